import type { Benchmark, Missing, OpenSuite, Suite } from '../suite.ts';
import type { Listing } from './conversation.ts';
import { AlfworldEngine } from './engine.ts';
import { followWalkthrough, playEpisode } from './episodes.ts';
import type { EpisodeResponse } from './episodes.ts';
import { alfworldSplits, openSplit } from './games.ts';
import type { AlfworldCase, AlfworldSplit } from './games.ts';
import { episodeVerdict, stepMatch, stepsVerdict, successRates } from './judge.ts';

export type AlfworldSuite = Suite<AlfworldCase, EpisodeResponse>;
export type OpenAlfworld = OpenSuite<AlfworldCase, EpisodeResponse>;

/** Version of this project's prompts. Raised with every change, like `rulesVersion`. */
const promptVersion = '1';
/** Version of this project's verdicts. */
const rulesVersion = '2';

/** Replays in one call of `judge`: each takes up to some seconds. */
const judgeBatchSize = 8;

/** Whole episodes, with or without the admissible commands in sight. */
export function episodeSuite(split: AlfworldSplit, listing: Listing): AlfworldSuite {
  return createSuite(
    split,
    listing,
    `${split.about}; ${listing === 'open' ? 'no list of commands' : 'admissible commands listed'}`,
    (engine) => ({
      attempt: (item, tools) => playEpisode(engine, item, listing, tools),
      async judge(answered, signal) {
        const verdicts = [];
        // Sequential, so that an abort stops the remaining replays.
        for (const { item, response } of answered)
          verdicts.push(await episodeVerdict(engine, item, response, signal));
        return verdicts;
      },
      scores: (verdicts) => successRates(split, listing, verdicts),
    }),
  );
}

/** Single steps along the walkthrough: our guess at the setting that GenEnv's paper seems to use. */
export function byStepSuite(split: AlfworldSplit): AlfworldSuite {
  return createSuite(
    split,
    'by_step',
    `${split.about}; each step of the walkthrough on its own, admissible commands listed`,
    (engine) => ({
      attempt: (item, tools) => followWalkthrough(engine, item, 'admissible', tools),
      judge: (answered) =>
        Promise.resolve(answered.map(({ item, response }) => stepsVerdict(item, response))),
      scores: (verdicts) => stepMatch(split, verdicts),
    }),
  );
}

type Rules = Pick<OpenAlfworld, 'attempt' | 'judge' | 'scores'>;

function createSuite(
  split: AlfworldSplit,
  setting: string,
  about: string,
  createRules: (engine: AlfworldEngine) => Rules,
): AlfworldSuite {
  return {
    name: `alfworld_${split.name}_${setting}`,
    about,
    refuses: () => null,
    async open(host, _settings, signal): Promise<OpenAlfworld | Missing> {
      const data = await openSplit(split, host);
      const python = await host.enginePython('alfworld');
      const missing = [
        ...('missing' in data ? [data.missing] : []),
        ...(python === null
          ? ['the engine of ALFWorld is not installed: run `npm run engines -- alfworld`']
          : []),
      ];
      if ('missing' in data || python === null) return { missing: missing.join('; and ') };
      const engine = await AlfworldEngine.open(python, signal);
      return {
        cases: data.games,
        dataHash: data.dataHash,
        promptVersion: JSON.stringify({ ...engine.versions, asking: promptVersion }),
        versions: { ...engine.versions, alfworld_rules: rulesVersion },
        judgeBatchSize,
        ...createRules(engine),
        gold: ({ walkthrough }) =>
          walkthrough === null ? undefined : { commands: walkthrough, tooLong: false },
        close: () => engine.close(),
      };
    },
  };
}

/** ALFWorld (Shridhar et al., arXiv 2010.03768): household tasks as text games. */
export const alfworld: Benchmark = {
  name: 'alfworld',
  suites: alfworldSplits.flatMap((split) => [
    episodeSuite(split, 'admissible'),
    episodeSuite(split, 'open'),
    byStepSuite(split),
  ]),
};
