import type { CommandParts } from '../command-parts.ts';

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
