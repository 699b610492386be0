import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addTemporalOptions } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';

export function addRescore({ program, context, exit }: CommandParts): void {
  const command = program
    .command('rescore')
    .description(
      'judge the answers of an evaluation again, by the rules that are here now; no model is asked',
    )
    .argument('<id>', 'id of an evaluation that has ended');
  addTemporalOptions(command, 'a Temporal server of your own instead of the embedded stack')
    .addHelpText('after', '\nExample:\n  genenv rescore evaluate-gold')
    .action(async (id: string, options: TemporalOptions) => exit(await rescore(id, options, context)));
}

async function rescore(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  const { runInSession } = await import('../lib/follow.ts');
  const { followEvaluation, rescoringId, startRescoring } = await import('../lib/follow-evaluation.ts');
  const { cancelCommand, commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { readResults, showScores } = await import('../lib/scores.ts');
  const { externalTemporal } = await import('../lib/session.ts');
  const { noNeeds } = await import('../../dev-stack/stack-needs.ts');
  const external = externalTemporal(options, context.env);
  // Files on this machine say nothing about an evaluation whose workers are elsewhere.
  if (external === null) await readResults(id, context);
  return runInSession(external, context, {
    use: { needs: noNeeds, own: id },
    page: `evaluations/${id}`,
    resumeCommand: commandLine(['rescore', id], temporalFlags(options)),
    cancelCommand: cancelCommand(rescoringId(id), options),
    follow: async (session, interruption) => {
      const handle = await startRescoring(session.client, id);
      return followEvaluation(session, { id, handle }, context, interruption);
    },
    end: () => showScores(id, context),
  });
}
