import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addTemporalOptions, parseWholeNumber } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';
import { byteText, plural } from '../lib/text.ts';

// The commands that need no server: they work on the files of the home folder.

export function addReport({ program, context }: CommandParts): void {
  program
    .command('report')
    .description(
      'write the report and the TensorBoard files of a run, the page of an evaluation, or what the arms of a ' +
        'comparison cost; print where',
    )
    .argument('<id>', 'id of the run, evaluation or comparison')
    .option('--prices <file>', 'with the prices of this file (experiments/prices.json), say the money too')
    .addHelpText(
      'after',
      '\nExamples:\n  genenv report laptop\n  genenv report laptop --prices prices.json\n  genenv report evaluate-gold\n  genenv report compare-main',
    )
    .action(async (id: string, { prices }: { prices?: string }) => report(id, prices, context));
}

async function report(id: string, pricesFile: string | undefined, context: CliContext): Promise<void> {
  const { requireRun, runsFolder } = await import('../../runs/run-overview.ts');
  const { RunFolder } = await import('../../runs/run-folder.ts');
  const { isRunId } = await import('../../store/phase-cache.ts');
  const { writeResults } = await import('../lib/run-results.ts');
  const home = homeFolder(context.env);
  const { readPricesFile } = await import('../lib/read-file.ts');
  const prices = pricesFile === undefined ? undefined : await readPricesFile(pricesFile);
  const runs = await RunFolder.list(runsFolder(home));
  if (runs.every((run) => run.id !== id) && isRunId(id)) {
    const { writeArmCosts } = await import('../lib/comparison-costs.ts');
    const { writeEvaluationPage } = await import('../../report/write-evaluation-page.ts');
    const { evaluationFolder } = await import('../lib/scores.ts');
    const written = [
      await writeEvaluationPage(evaluationFolder(id, context)),
      await writeArmCosts(id, context, prices),
    ].filter((file) => file !== undefined);
    for (const file of written) context.print(file);
    if (written.length > 0) return;
  }
  await requireRun(home, id);
  context.print(await writeResults(home, id, context, prices));
}

export function addVerify({ program, context, exit }: CommandParts): void {
  const command = program
    .command('verify')
    .description('check the ledger of a run and every file that it names; exits 1 naming the first bad file')
    .argument('<run>', 'id of the run')
    .option('--sign <file>', 'if it is whole, print a signature by this private key (Ed25519, PEM)')
    .option('--signature <file>', 'check it against a signature that was kept elsewhere')
    .option('--public-key <file>', 'the key of that signature')
    .option('--temporal', 'compare its last line with the result that Temporal has')
    .addHelpText(
      'after',
      '\nExamples:\n  genenv verify laptop\n  genenv verify laptop --sign key.pem > laptop.signature\n' +
        '  genenv verify laptop --signature laptop.signature --public-key public.pem',
    );
  addTemporalOptions(command).action(async (id: string, options: VerifyOptions) =>
    exit(await verify(id, options, context)),
  );
}

interface VerifyOptions extends TemporalOptions {
  temporal?: boolean;
  sign?: string;
  signature?: string;
  publicKey?: string;
}

const MAX_PROBLEMS = 10;

async function verify(
  id: string,
  { sign, signature, publicKey, temporal = false, ...server }: VerifyOptions,
  context: CliContext,
): Promise<ExitCode> {
  if ((signature === undefined) !== (publicKey === undefined))
    throw new CliError('--signature, --public-key: got one of them; give both', exitCodes.badInput);
  const { env, print, warn } = context;
  const { requireRun } = await import('../../runs/run-overview.ts');
  const { verifyRun } = await import('../../runs/verify.ts');
  const { ObjectStore } = await import('../../store/object-store.ts');
  const home = homeFolder(env);
  const run = await requireRun(home, id);
  const store = new ObjectStore(join(home, 'store'));
  const { lines, objects, bytes, pruned, problems } = await verifyRun(store, run);
  const { signatureProblem, signLedger } = await import('../../runs/ledger-signature.ts');
  if (signature !== undefined && publicKey !== undefined) {
    const problem = await signatureProblem(run, readKeyFile(signature), readKeyFile(publicKey));
    if (problem !== undefined) problems.push({ file: run.ledgerFile, problem });
  }
  if (temporal) {
    const { temporalHeadProblem } = await import('../lib/temporal-head.ts');
    const problem = await temporalHeadProblem(run, server, context);
    if (problem !== undefined) problems.push({ file: run.ledgerFile, problem });
  }
  if (sign !== undefined && problems.length === 0) {
    print((await signLedger(run, readKeyFile(sign))).trimEnd());
    return exitCodes.ok;
  }
  if (problems.length === 0) {
    const ledgerText = plural(lines, 'ledger line');
    const objectText = `${plural(objects, 'object')} (${byteText(bytes)})`;
    const prunedText = pruned === 0 ? '' : `, ${pruned} pruned by retention`;
    print(`${id}: whole. ${ledgerText}, ${objectText}${prunedText}.`);
    if (signature !== undefined)
      print('Signed are the experiment and the ledger, not the times and events beside it.');
    return exitCodes.ok;
  }
  for (const { file, problem } of problems.slice(0, MAX_PROBLEMS)) warn(`${id}: ${file}: ${problem}`);
  if (problems.length > MAX_PROBLEMS) warn(`${id}: and ${problems.length - MAX_PROBLEMS} more`);
  return exitCodes.failed;
}

/** A key or a signature. @throws CliError naming the file, never its content */
function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException;
    throw new CliError(`${file.slice(0, 200)}: cannot be read (${code})`, exitCodes.badInput);
  }
}

interface GcOptions {
  dryRun?: boolean;
  keepLast: number;
  keepEvery: number;
  keepBest: boolean;
}

export function addGc({ program, context }: CommandParts): void {
  program
    .command('gc')
    .description('remove checkpoints that are not kept, finished work and what killed processes left')
    .option('--dry-run', 'only say what would go')
    .option(
      '--keep-last <n>',
      'keep the checkpoints of the last n epochs of each run',
      parseWholeNumber('--keep-last', 1),
      2,
    )
    .option('--keep-every <n>', 'and of every n-th epoch; 0 = none', parseWholeNumber('--keep-every', 0), 10)
    .option('--no-keep-best', 'do not keep the checkpoints with the best held-out success')
    .addHelpText('after', '\nExamples:\n  genenv gc --dry-run\n  genenv gc --keep-last 5 --keep-every 20')
    .action(async (options: GcOptions) => gc(options, context));
}

async function gc(
  { dryRun = false, keepLast, keepEvery, keepBest }: GcOptions,
  { env, print }: CliContext,
): Promise<void> {
  const { collectGarbage } = await import('../../runs/garbage-collection.ts');
  const { RunFolder } = await import('../../runs/run-folder.ts');
  const { runsFolder } = await import('../../runs/run-overview.ts');
  const { ObjectStore } = await import('../../store/object-store.ts');
  const { plainTable } = await import('../lib/table.ts');
  const home = homeFolder(env);
  const runs = await RunFolder.list(runsFolder(home));
  const keep = { last: keepLast, every: keepEvery, best: keepBest };
  const store = new ObjectStore(join(home, 'store'));
  const { items, bytes: freed } = await collectGarbage(store, runs, { keep, dryRun });
  const table = plainTable(['what', 'number', 'size']);
  let total = 0;
  for (const [kind, size] of Object.entries(freed)) {
    const count = items.filter((item) => item.kind === kind).length;
    if (count > 0) table.push([kind.replace('_', ' '), count, byteText(size)]);
    total += size;
  }
  if (items.length > 0) print(table.toString());
  const verb = dryRun ? 'Would free' : 'Freed';
  print(
    `${verb} ${byteText(total)} in ${plural(items.length, 'item')}, of ${plural(runs.length, 'run')} in ${home}.`,
  );
}

export function addSchema({ program, context }: CommandParts): void {
  program
    .command('schema')
    .description('print the JSON Schema of the experiment file')
    .addHelpText('after', '\nExample:\n  genenv schema > experiments/experiment.schema.json')
    .action(async () => {
      const { experimentJsonSchema } = await import('../../config/json-schema.ts');
      context.print(JSON.stringify(experimentJsonSchema(), null, 2));
    });
}
