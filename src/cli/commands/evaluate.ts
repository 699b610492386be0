import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addTemporalOptions, parseWholeNumber, requireId, SERVED_ADDRESS } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';

interface EvaluateOptions extends TemporalOptions {
  id?: string;
  policy?: string;
  suite?: string;
  baseUrl?: string;
  apiKeyEnv?: string;
  api?: string;
  limit?: number;
  seed?: number;
  maxTokens?: number;
  temperature?: number;
  toolFormat?: string;
  searchUrl?: string;
  searchKeyEnv?: string;
  judgeUrl?: string;
  judgeModel?: string;
  judgeKeyEnv?: string;
  against?: string;
}

const EXAMPLES = `
What was answered is not asked again. Starting an id again continues, with the same settings only.

Examples:
  genenv evaluate --policy gold --suite bamboogle_closedbook
  genenv evaluate --policy qwen2.5-7b@40 --suite api_bank_toolrl
  genenv evaluate --policy Qwen/Qwen2.5-7B-Instruct --base-url http://vllm:8000/v1 --suite 'bfcl_v4_*'
  genenv evaluate experiments/evaluate-gold.json --limit 20`;

export function addEvaluate({ program, context, exit }: CommandParts): void {
  const command = program
    .command('evaluate')
    .description('evaluate a policy on benchmarks, or resume it')
    .argument('[file]', 'evaluation file; options win over it')
    .option(
      '--policy <policy>',
      'a run, `RUN@EPOCH`, `gold` (the answer key itself), or a model’s name together with --base-url',
    )
    .option('--suite <names>', 'suites, separated by commas; `genenv suites` lists them')
    .option('--base-url <url>', 'OpenAI-compatible server of the model')
    .option('--api-key-env <name>', 'environment variable of the worker that holds its key')
    .option('--api <api>', 'chat (default) or completions')
    .option(
      '--id <id>',
      'id of the evaluation: its folder and its workflow id (default: from the policy and the settings)',
    )
    .option('--limit <cases>', 'only the first cases of each suite', parseWholeNumber('--limit', 1))
    .option('--seed <seed>', 'seed of all sampling', parseWholeNumber('--seed', 0))
    .option('--temperature <t>', 'sampling temperature (default 0)', parseTemperature)
    .option('--max-tokens <n>', 'most new tokens in an answer', parseWholeNumber('--max-tokens', 1))
    .option('--tool-format <format>', 'prompt (default) or native')
    .option('--search-url <url>', 'search endpoint of suites that search')
    .option('--search-key-env <name>', 'environment variable with its key')
    .option('--judge-model <model>', 'model that judges free answers, with --judge-url')
    .option('--judge-url <url>', 'its server')
    .option('--judge-key-env <name>', 'environment variable with its key')
    .option('--against <id>', 'compare with another evaluation afterwards, case by case');
  addTemporalOptions(command, SERVED_ADDRESS)
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, options: EvaluateOptions) =>
      exit(await evaluate(file, options, context)),
    );
}

/** Checks everything that can be checked before it starts or writes anything. */
async function evaluate(
  file: string | undefined,
  options: EvaluateOptions,
  context: CliContext,
): Promise<ExitCode> {
  const { evaluationIdPattern, evaluationIdRule, parseEvaluation } =
    await import('../../config/evaluation.ts');
  const { isObject } = await import('../../validation/json-schema.ts');
  const { cancelCommand } = await import('../lib/command-line.ts');
  const { runInSession } = await import('../lib/follow.ts');
  const { followEvaluation, startEvaluation } = await import('../lib/follow-evaluation.ts');
  const { readInputFile } = await import('../lib/read-file.ts');
  const { readResults, showPaired, showScores } = await import('../lib/scores.ts');
  const { externalTemporal } = await import('../lib/session.ts');
  const content =
    file === undefined ? {} : await readInputFile('evaluation file', file, 'experiments/evaluate-gold.json');
  const raw = isObject(content) ? await mergeOptions(content, options) : content;
  const evaluation = parseEvaluation(raw);
  const { name, suites, policy } = evaluation;
  const id = options.id ?? name;
  requireId(id, evaluationIdPattern, evaluationIdRule);
  const { benchmarks, selectSuites } = await import('../../benchmarks/registry.ts');
  selectSuites(benchmarks, suites);
  if (options.against !== undefined) await readResults(options.against, context);
  const { policyNeeds, requireEngines } = await import('../lib/needs.ts');
  const { requireServersPermitted } = await import('../lib/server-permission.ts');
  const external = externalTemporal(options, context.env);
  const needs = await policyNeeds(policy, homeFolder(context.env));
  if (external === null) {
    requireEngines(needs, []);
    requireServersPermitted([evaluation], context);
  }
  return runInSession(external, context, {
    use: { needs, own: id },
    page: `evaluations/${id}`,
    resumeCommand: 'the same command',
    cancelCommand: cancelCommand(id, options),
    follow: async (session, interruption) => {
      const summary = `${name}: ${suites.join(', ')}`.slice(0, 200);
      const handle = await startEvaluation(session.client, { id, raw, evaluation, summary });
      return followEvaluation(session, { id, handle }, context, interruption);
    },
    end: async () => {
      const code = await showScores(id, context);
      if (code !== exitCodes.ok || options.against === undefined) return code;
      return showPaired(id, options.against, context);
    },
  });
}

/**
 * What the workflow is started with: the file's fields, overridden by the options.
 * @throws CliError for options that contradict each other
 */
async function mergeOptions(
  file: Record<string, unknown>,
  options: EvaluateOptions,
): Promise<Record<string, unknown>> {
  const { hashOf } = await import('../../store/canonical-json.ts');
  const { suite, temperature, maxTokens, seed, limit, toolFormat } = options;
  const overrides = {
    policy: policyFrom(options),
    suites: suite?.split(',').map((name) => name.trim()),
    temperature,
    maxTokens,
    seed,
    limit,
    toolFormat,
    search: searchFrom(options),
    judge: judgeFrom(options),
  };
  const present = Object.entries(overrides).filter(([, value]) => value !== undefined);
  const merged = { ...file, ...Object.fromEntries(present) };
  if (!('policy' in merged))
    throw badOption(
      '--policy: missing; expected a run, `RUN@EPOCH`, `gold`, or a model’s name together with --base-url',
    );
  if (!('suites' in merged))
    throw badOption('--suite: missing; expected names of suites, which `genenv suites` lists');
  // The same options name the same evaluation, so the same command resumes it.
  return { name: `${slug(options.policy ?? 'policy')}-${hashOf(merged).slice(0, 8)}`, ...merged };
}

function searchFrom({ searchUrl, searchKeyEnv }: EvaluateOptions): object | undefined {
  if (searchUrl === undefined) {
    requireAbsent('--search-key-env', searchKeyEnv, '--search-url');
    return undefined;
  }
  return { url: searchUrl, ...(searchKeyEnv !== undefined && { apiKeyEnv: searchKeyEnv }) };
}

function policyFrom({ policy, baseUrl, apiKeyEnv, api }: EvaluateOptions): object | undefined {
  const apiField = { ...(api !== undefined && { api }) };
  if (policy === undefined) {
    requireAbsent('--base-url', baseUrl, '--policy');
    requireAbsent('--api-key-env', apiKeyEnv, '--policy');
    requireAbsent('--api', api, '--policy');
    return undefined;
  }
  if (baseUrl !== undefined)
    return {
      type: 'served',
      baseUrl,
      model: policy,
      ...(apiKeyEnv !== undefined && { apiKeyEnv }),
      ...apiField,
    };
  requireAbsent('--api-key-env', apiKeyEnv, '--base-url');
  if (policy === 'gold') {
    requireAbsent('--api', api, 'a model');
    return { type: 'gold' };
  }
  const [, run, epoch] = /^([^@]*)(?:@(\d{1,6}))?$/.exec(policy) ?? [];
  if (run === undefined)
    throw badOption(
      `--policy: got ${JSON.stringify(policy)}; expected a run, \`RUN@EPOCH\`, \`gold\`, ` +
        'or a model’s name together with --base-url',
    );
  return { type: 'run', run, ...(epoch !== undefined && { epoch: Number(epoch) }), ...apiField };
}

function judgeFrom({ judgeUrl, judgeModel, judgeKeyEnv }: EvaluateOptions): object | undefined {
  if ((judgeUrl === undefined) !== (judgeModel === undefined))
    throw badOption('--judge-model and --judge-url: got one of them; give both, or none');
  if (judgeUrl === undefined) {
    requireAbsent('--judge-key-env', judgeKeyEnv, '--judge-url');
    return undefined;
  }
  return {
    baseUrl: judgeUrl,
    model: judgeModel,
    ...(judgeKeyEnv !== undefined && { apiKeyEnv: judgeKeyEnv }),
  };
}

/** @throws CliError for an option that means nothing without another one */
function requireAbsent(flag: string, value: string | undefined, without: string): void {
  if (value !== undefined) throw badOption(`${flag}: got ${JSON.stringify(value)} without ${without}`);
}

function parseTemperature(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value))
    throw badOption(`--temperature: got ${JSON.stringify(text)}; expected a number such as 0.7`);
  return value;
}

const slug = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 40) || 'policy';

const badOption = (message: string): CliError => new CliError(message, exitCodes.badInput);
