import type { ServicesTask } from './task.ts';
import { referenceTo } from './task.ts';

/** What the user asks for in each turn, in the code's words: no more and no less than the label's calls. */
export const requestsOf = ({ turns }: ServicesTask): string[] =>
  turns.map((program) =>
    program
      .map((call, index) => {
        const sentence = wordCall(call.name, call.arguments, program);
        return index === 0 ? sentence : `Then ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
      })
      .join(' '),
  );

type Made = ServicesTask['turns'][number][number]['arguments'];

function wordCall(name: string, made: Made, program: ServicesTask['turns'][number]): string {
  const said = (parameter: string): string => String(made[parameter]);
  const text = (parameter: string): string => {
    const at = referenceTo(made[parameter]);
    const read = at === undefined ? undefined : program[at]?.arguments;
    return read === undefined
      ? `"${said(parameter)}"`
      : `the very text of ${String(read.name)} in the folder ${String(read.folder)}`;
  };
  switch (name) {
    case 'list_files':
      return `Which files are in the folder ${said('folder')}?`;
    case 'read_file':
      return `What does ${said('name')} in the folder ${said('folder')} say?`;
    case 'write_file':
      return `Write ${text('text')} into ${said('name')} in the folder ${said('folder')}.`;
    case 'move_file':
      return `Move ${said('name')} from the folder ${said('folder')} to the folder ${said('to')}.`;
    case 'delete_file':
      return `Delete ${said('name')} in the folder ${said('folder')}.`;
    case 'send_message':
      return `Send ${said('to')} the message ${text('text')}.`;
    case 'open_ticket':
      return `Open a ticket of ${said('priority')} priority, titled ${text('title')}.`;
    case 'list_tickets':
      return 'Which tickets are there?';
    case 'set_priority':
      return `Set the priority of ticket ${said('id')} to ${said('priority')}.`;
    default:
      return `Close ticket ${said('id')}.`;
  }
}
