import { hashOf } from '../../store/canonical-json.ts';
import type { EvaluateOptions } from '../commands/evaluate.ts';
import { CliError, exitCodes } from '../exit-codes.ts';

const bad = (message: string): CliError => new CliError(message, exitCodes.badInput);

/**
 * What the workflow is started with: the file's fields, with those that options give instead. @throws
 * CliError for options that do not go together
 */
export function evaluationOf(
  file: Record<string, unknown>,
  options: EvaluateOptions,
): Record<string, unknown> {
  const { suite, temperature, maxTokens, seed, limit, toolFormat } = options;
  const over = {
    policy: policyOf(options),
    suites: suite?.split(',').map((name) => name.trim()),
    temperature: temperature === undefined ? undefined : Number(temperature),
    maxTokens,
    seed,
    limit,
    toolFormat,
    search:
      options.searchUrl === undefined
        ? undefined
        : {
            url: options.searchUrl,
            ...(options.searchKeyEnv !== undefined && { apiKeyEnv: options.searchKeyEnv }),
          },
    judge: judgeOf(options),
  };
  const given = Object.fromEntries(Object.entries(over).filter(([, value]) => value !== undefined));
  const merged = { ...file, ...given };
  if (!('policy' in merged))
    throw bad(
      '--policy: missing; expected a run, `RUN@EPOCH`, `gold`, or a model’s name together with --base-url',
    );
  if (!('suites' in merged))
    throw bad('--suite: missing; expected names of suites, which `genenv suites` lists');
  // The same options mean the same evaluation, so the same command goes on with it.
  return { name: `${slug(options.policy ?? 'policy')}-${hashOf(merged).slice(0, 8)}`, ...merged };
}

function policyOf({ policy, baseUrl, apiKeyEnv, api }: EvaluateOptions): object | undefined {
  const asked = { ...(api !== undefined && { api }) };
  if (policy === undefined) {
    if (baseUrl !== undefined)
      throw bad(
        `--base-url: got ${JSON.stringify(baseUrl)} without --policy; expected the model’s name there`,
      );
    return undefined;
  }
  if (baseUrl !== undefined)
    return {
      type: 'served',
      baseUrl,
      model: policy,
      ...(apiKeyEnv !== undefined && { apiKeyEnv }),
      ...asked,
    };
  if (policy === 'gold') return { type: 'gold' };
  const [, run, epoch] = /^([^@]*)(?:@(\d{1,6}))?$/.exec(policy) ?? [];
  if (run === undefined)
    throw bad(
      `--policy: got ${JSON.stringify(policy)}; expected a run, \`RUN@EPOCH\`, \`gold\`, or a model’s name together with --base-url`,
    );
  return { type: 'run', run, ...(epoch !== undefined && { epoch: Number(epoch) }), ...asked };
}

function judgeOf({ judgeUrl, judgeModel, judgeKeyEnv }: EvaluateOptions): object | undefined {
  if ((judgeUrl === undefined) !== (judgeModel === undefined))
    throw bad('--judge-model and --judge-url: got one of them; give both, or none');
  return judgeUrl === undefined
    ? undefined
    : { baseUrl: judgeUrl, model: judgeModel, ...(judgeKeyEnv !== undefined && { apiKeyEnv: judgeKeyEnv }) };
}

const slug = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40) || 'policy';
