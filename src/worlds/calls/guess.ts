import type { RandomStream } from '../../coevolution/seeds.ts';
import type { Call, CallsTask, Parameter, Value } from './task-schema.ts';

/** As many calls as are asked for, of tools drawn blindly, their required arguments made of the dialogue's own words and small numbers. */
export function guessCalls({ dialogue, tools, calls }: CallsTask, random: RandomStream): Call[] {
  const words = dialogue
    .flatMap(({ content }) => content.split(/\s+/))
    .map((word) => word.replace(/^\W+|\W+$/g, ''))
    .filter((word) => word !== '');
  const value = ({ type, enum: allowed, items, properties = {}, required = [] }: Parameter): Value => {
    if (allowed !== undefined) return random.pick(allowed);
    switch (type) {
      case 'string':
        return words.length === 0 ? 'yes' : random.pick(words);
      case 'boolean':
        return random.int(2) === 0;
      case 'array':
        return [value(items ?? { type: 'string' })];
      case 'object':
        return object(properties, required);
      default:
        return random.int(10);
    }
  };
  const object = (
    parameters: Record<string, Parameter>,
    required: readonly string[],
  ): Record<string, Value> => Object.fromEntries(required.map((name) => [name, value(parameters[name]!)]));
  return calls.map(() => {
    const tool = random.pick(tools);
    return { name: tool.name, arguments: object(tool.parameters, tool.required) };
  });
}
