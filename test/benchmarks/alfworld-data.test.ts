import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { alfworld } from '../../src/benchmarks/alfworld/alfworld.ts';
import { alfworldSplits, openSplit, readGames } from '../../src/benchmarks/alfworld/games.ts';
import type { AlfworldCase } from '../../src/benchmarks/alfworld/games.ts';
import { stepMatch, stepsVerdict, successRates } from '../../src/benchmarks/alfworld/judge.ts';
import { prompted, shippedHost } from './attempt.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'genenv-alfworld-test-'))));
afterEach(() => rmSync(folder, { recursive: true }));

function trial(id: string, game: unknown, type = 'pick_and_place_simple'): void {
  mkdirSync(join(folder, id), { recursive: true });
  writeFileSync(join(folder, id, 'traj_data.json'), JSON.stringify({ task_type: type }));
  if (game !== null) writeFileSync(join(folder, id, 'game.tw-pddl'), JSON.stringify(game));
}

describe('the games of a split', () => {
  it('are those that the official environment plays', async () => {
    const solvable = { solvable: true, walkthrough: ['look'] };
    trial('b-Mug/trial_2', solvable);
    trial('b-Mug/trial_1', { solvable: true });
    trial('a-Mug/trial_1', { solvable: false });
    trial('a-Mug/trial_2', { walkthrough: ['look'] });
    trial('a-Mug/trial_3', null);
    trial('a-AppleSliced/trial_1', solvable);
    trial('pick_and_place_with_movable_recep/trial_1', solvable);
    trial('a-Mug/trial_4', solvable, 'pick_and_place_with_movable_recep');
    const read = await readGames(folder);
    expect(read?.games).toEqual([
      {
        id: 'b-Mug/trial_1',
        file: join(folder, 'b-Mug/trial_1/game.tw-pddl'),
        taskType: 'pick_and_place_simple',
        walkthrough: null,
      },
      {
        id: 'b-Mug/trial_2',
        file: join(folder, 'b-Mug/trial_2/game.tw-pddl'),
        taskType: 'pick_and_place_simple',
        walkthrough: ['look'],
      },
    ]);
    trial('b-Mug/trial_1', { solvable: true, pddl_problem: 'another' });
    expect((await readGames(folder))?.dataHash).not.toBe(read?.dataHash);
  });
  it('of this project are 11, of every kind', async () => {
    const read = await openSplit(alfworldSplits[0]!, shippedHost);
    if ('missing' in read) throw new Error(read.missing);
    expect(read.games).toHaveLength(11);
    expect(new Set(read.games.map(({ taskType }) => taskType)).size).toBe(6);
    expect(read.games.every(({ walkthrough }) => walkthrough !== null && walkthrough.length <= 50)).toBe(
      true,
    );
  });
});

describe('a suite that cannot run', () => {
  it('says which archives go where, and how the engine is installed', async () => {
    const suite = alfworld.suites.find(({ name }) => name === 'alfworld_valid_unseen_admissible')!;
    const opened = await suite.open({ ...shippedHost, downloads: folder }, prompted);
    expect(opened).toEqual({
      missing: expect.stringMatching(
        /json_2\.1\.1\/valid_unseen, which is not there: download json_2\.1\.1_json\.zip \(release 0\.2\.2\) and json_2\.1\.2_tw-pddl\.zip \(release 0\.4\.0\).*npm run engines -- alfworld/,
      ) as unknown,
    });
  });
  it('does not take part of the games for the benchmark', async () => {
    const downloads = folder;
    folder = join(folder, 'alfworld/json_2.1.1/valid_seen');
    trial('a-Mug/trial_1', { solvable: true, walkthrough: ['look'] });
    folder = downloads;
    expect(await openSplit(alfworldSplits[1]!, { shipped: '', downloads })).toEqual({
      missing: expect.stringContaining('where 1 of 140 games were found') as unknown,
    });
  });
});

describe('figures', () => {
  it('are success rates, of all games and of each kind', () => {
    const verdict = (
      taskType: string,
      correct: boolean,
      strict = correct,
    ): Parameters<typeof successRates>[2][number] => ({
      verdict: { correct, scores: { strict: Number(strict) }, reason: null, detail: { taskType, steps: 1 } },
    });
    const scores = successRates(alfworldSplits[2]!, 'open', [
      verdict('look_at_obj_in_light', true, false),
      verdict('pick_and_place_simple', true),
      verdict('pick_and_place_simple', false),
    ]);
    expect(scores.map((score) => [score.name, score.successes, score.of])).toEqual([
      ['alfworld_valid_unseen_success_open', 2, 3],
      ['alfworld_valid_unseen_success_strict_open', 1, 3],
      ['alfworld_valid_unseen_success_pick_and_place_simple_open', 1, 2],
      ['alfworld_valid_unseen_success_look_at_obj_in_light_open', 1, 1],
    ]);
  });
  it('by step count steps, not games', () => {
    const item: AlfworldCase = {
      id: 'a',
      file: '',
      taskType: 'pick_and_place_simple',
      walkthrough: ['go to desk 1', 'take mug 1 from desk 1', 'move mug 1 to shelf 1'],
    };
    const verdict = stepsVerdict(item, {
      commands: ['Go to desk 1.', 'look', 'put mug 1 in/on shelf 1'],
      tooLong: false,
    });
    expect(verdict).toEqual({
      correct: false,
      scores: { step_match: 2 / 3 },
      reason: 'other_command',
      detail: [true, false, true],
    });
    const right = stepsVerdict(item, { commands: item.walkthrough!, tooLong: false });
    expect(right).toMatchObject({ correct: true, reason: null });
    expect(stepMatch(alfworldSplits[0]!, [{ verdict }, { verdict: right }])).toMatchObject([
      {
        name: 'alfworld_own_genenv_by_step',
        successes: 5,
        of: 6, // eslint-disable-line id-denylist -- its name on disk
        note: expect.stringMatching(/smoke test.*our guess/) as unknown,
      },
    ]);
  });
  it('by step: an answer that never came is a wrong one, and a game without a walkthrough has no steps', () => {
    const item: AlfworldCase = {
      id: 'a',
      file: '',
      taskType: 'pick_and_place_simple',
      walkthrough: ['look', 'look'],
    };
    expect(stepsVerdict(item, { commands: ['look'], tooLong: true })).toMatchObject({
      correct: false,
      reason: 'prompt_too_long',
      detail: [true, false],
    });
    expect(stepsVerdict({ ...item, walkthrough: null }, { commands: [], tooLong: false })).toMatchObject({
      correct: false,
      scores: { step_match: null },
      reason: 'no_walkthrough',
    });
  });
});
