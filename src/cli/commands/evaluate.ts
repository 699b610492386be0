import type { CommandParts } from '../command-parts.ts';
import { withTemporal } from '../temporal-options.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { parseWholeNumber } from '../whole-number.ts';

export interface EvaluateOptions extends TemporalOptions {
  id?: string;
  policy?: string;
  suite?: string;
  baseUrl?: string;
  apiKeyEnv?: string;
  api?: string;
  limit?: number;
  seed?: number;
  maxTokens?: number;
  temperature?: string;
  toolFormat?: string;
  searchUrl?: string;
  searchKeyEnv?: string;
  judgeUrl?: string;
  judgeModel?: string;
  judgeKeyEnv?: string;
  against?: string;
}

export function addEvaluate({ program, context, exit }: CommandParts): void {
  const command = program
    .command('evaluate')
    .description('evaluate a policy on benchmarks, or go on with it')
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
    .option('--temperature <t>', 'sampling temperature (default 0)')
    .option('--max-tokens <n>', 'most new tokens in an answer', parseWholeNumber('--max-tokens', 1))
    .option('--tool-format <format>', 'prompt (default) or native')
    .option('--search-url <url>', 'search endpoint of suites that search')
    .option('--search-key-env <name>', 'environment variable with its key')
    .option('--judge-model <model>', 'model that judges free answers, with --judge-url')
    .option('--judge-url <url>', 'its server')
    .option('--judge-key-env <name>', 'environment variable with its key')
    .option('--against <id>', 'compare with another evaluation afterwards, case by case');
  withTemporal(
    command,
    'an own Temporal server instead of the embedded stack; a worker must serve it (npm run worker)',
  )
    .addHelpText('after', evaluateExamples)
    .action(async (file: string | undefined, options: EvaluateOptions) => {
      const { evaluate } = await import('../evaluate/evaluate.ts');
      exit(await evaluate(file, options, context));
    });
}

export function addRescore({ program, context, exit }: CommandParts): void {
  const command = program
    .command('rescore')
    .description(
      'judge the answers of an evaluation again, by the rules that are here now; no model is asked',
    )
    .argument('<id>', 'id of an evaluation that has ended');
  withTemporal(command, 'an own Temporal server instead of the embedded stack')
    .addHelpText('after', '\nExample:\n  genenv rescore evaluate-gold')
    .action(async (id: string, options: TemporalOptions) => {
      const { rescore } = await import('../evaluate/rescore.ts');
      exit(await rescore(id, options, context));
    });
}

export function addPaired({ program, context, exit }: CommandParts): void {
  program
    .command('paired')
    .description('two evaluations case by case: exact McNemar test')
    .argument('<first>', 'id of an evaluation')
    .argument('<second>', 'id of another')
    .addHelpText('after', '\nExample:\n  genenv paired trained warm')
    .action(async (first: string, second: string) => {
      const { paired } = await import('../evaluate/paired.ts');
      exit(await paired(first, second, context));
    });
}

export function addSuites({ program, context, exit }: CommandParts): void {
  program
    .command('suites')
    .description('suites of the benchmarks: which are here, and what the others need')
    .addHelpText('after', '\nExample:\n  genenv suites')
    .action(async () => {
      const { suites } = await import('../evaluate/suites.ts');
      exit(await suites(context));
    });
}

const evaluateExamples = `
What was answered is not asked again. Starting an id again goes on, with the same settings only.

Examples:
  genenv evaluate --policy gold --suite bamboogle_closedbook
  genenv evaluate --policy qwen2.5-7b@40 --suite api_bank_toolrl
  genenv evaluate --policy Qwen/Qwen2.5-7B-Instruct --base-url http://vllm:8000/v1 --suite 'bfcl_v4_*'
  genenv evaluate experiments/evaluate-gold.json --limit 20`;
