import type { Benchmark, OpenSuite, Suite } from '../suite.ts';
import { findPlan, planVerdict, travelCaseVerdict } from './case-verdict.ts';
import type { PlanResponse } from './case-verdict.ts';
import type { PlannerTask, Split, SplitName } from './data/task.ts';
import { openTrain } from './data/train.ts';
import { createValidationCache } from './data/validation.ts';
import { officialVerdict } from './official/verdict.ts';
import { plannerQuestion } from './prompts/planner.ts';
import { officialRates } from './rates.ts';
import { planByNativeTools } from './tools/native.ts';
import { planByReact } from './tools/react.ts';

type Mode = 'soleplanning' | 'tooluse';

const modes: Record<Mode, string> = {
  soleplanning: 'all reference information is in the prompt',
  tooluse: 'the policy searches the sandbox, keeps a notebook, and plans from it',
};

const splits: Record<SplitName, string> = {
  train: '45 train tasks, whole and offline',
  validation: '180 validation tasks, with the database that you download',
};

const openValidation = createValidationCache();

/** A split in one of the benchmark's two modes. */
export function travelSuite(split: SplitName, mode: Mode): Suite<PlannerTask, PlanResponse> {
  return {
    name: `travelplanner_${split}_${mode}`,
    about: `TravelPlanner, ${splits[split]}: ${modes[mode]}`,
    refuses: () => null,
    async open({ shipped, downloads }, { toolFormat }) {
      const opened =
        split === 'train'
          ? await openTrain(`${shipped}/travelplanner`)
          : await openValidation(`${downloads}/travelplanner`);
      if ('missing' in opened) return opened;
      return openSuite(split, opened, mode === 'soleplanning' ? mode : `${mode}_${toolFormat}`);
    },
  };
}

type Setting = 'soleplanning' | 'tooluse_prompt' | 'tooluse_native';

function openSuite(name: SplitName, split: Split, setting: Setting): OpenSuite<PlannerTask, PlanResponse> {
  const queries = new Map(split.tasks.map(({ id, query }) => [id, query]));
  return {
    cases: split.tasks,
    dataHash: split.dataHash,
    promptVersion: `${setting}/1`,
    versions: { rules: 'travelplanner-eval-da7c1d41/1', prompts: `${setting}/1` },
    async attempt(task, tools) {
      if (setting === 'tooluse_prompt') return planByReact(task.query.query, split.sandbox, tools);
      if (setting === 'tooluse_native') return planByNativeTools(task.query.query, split.sandbox, tools);
      const { text, finish_reason } = await tools.ask(
        plannerQuestion(split.reference(task), task.query.query),
      );
      return { answer: text.toWellFormed(), steps: 0, end: finish_reason };
    },
    judge: (answered) =>
      Promise.resolve(
        answered.map(({ item, response }) =>
          travelCaseVerdict(officialVerdict(item.query, findPlan(response.answer), split.sandbox)),
        ),
      ),
    scores: (verdicts) =>
      officialRates(
        verdicts.map(({ id, verdict }) => ({ query: queries.get(id)!, verdict: planVerdict(verdict) })),
        name,
        setting,
      ),
    gold(task) {
      const plan = split.goldPlan(task);
      return plan && { answer: JSON.stringify(plan), steps: 0, end: 'stop' };
    },
    close: () => Promise.resolve(),
  };
}

/**
 * TravelPlanner (Xie et al. 2024, arXiv 2402.01622): plans of trips under 8 commonsense and 5 hard
 * constraints.
 */
export const travelPlanner: Benchmark = {
  name: 'travelplanner',
  suites: (['train', 'validation'] as const).flatMap((split) =>
    (['soleplanning', 'tooluse'] as const).map((mode) => travelSuite(split, mode)),
  ),
};
