import type { SeriesOption } from 'echarts';
import { TARGET_BAND } from '../coevolution/success-band.ts';
import { range } from '../numerics/arithmetic.ts';
import { colorAt, line, overEpochs, shadeBand } from '../report/charts/options.ts';
import type { Chart } from '../report/charts/options.ts';
import { trailingMean } from '../report/findings.ts';
import type { EpochSeries } from './arm-summary.ts';
import type { Summary } from './summary.ts';

/** What each arm trained on, epoch by epoch. */
export function curriculumCharts({ arms, epochs }: Summary): Chart[] {
  const rows = range(epochs).map((index) => ({ epoch: index + 1 }));
  return curriculumSeries.map(({ id, title, caption, course, max }) => {
    const lines = arms.map(({ arm, courses }, index) =>
      line(arm, trailingMean(courses[course]), { color: colorAt(index) }),
    );
    const series = id === 'success' ? withBand(lines) : lines;
    return { id, title, caption, option: overEpochs(rows, series, { min: 0, ...(max && { max }) }) };
  });
}

function withBand([first, ...rest]: SeriesOption[]): SeriesOption[] {
  return first === undefined ? [] : [shadeBand(first, [TARGET_BAND.low, TARGET_BAND.high], 'band'), ...rest];
}

const curriculumSeries: {
  id: string;
  title: string;
  caption: string;
  course: keyof EpochSeries;
  max?: number;
}[] = [
  {
    id: 'success',
    title: 'Success on the arm’s own tasks',
    caption:
      '5-epoch means over the seeds. A band by itself is no learning: read it beside the learning curves.',
    course: 'success',
    max: 1,
  },
  {
    id: 'difficulty',
    title: 'Difficulty asked for',
    caption: 'Mean difficulty of the valid tasks, in the world’s own unit.',
    course: 'difficulty',
  },
  {
    id: 'length',
    title: 'Length of correct answers',
    caption: 'Tokens. Only correct answers count: a wrong one may be of any length.',
    course: 'correctLength',
  },
  {
    id: 'informative',
    title: 'Informative groups',
    caption: 'Share of tasks that were solved sometimes, not always or never.',
    course: 'informative',
    max: 1,
  },
  {
    id: 'unsolved',
    title: 'Tasks never solved',
    caption: 'Share of tasks with k = 0.',
    course: 'unsolved',
    max: 1,
  },
  {
    id: 'solved',
    title: 'Tasks always solved',
    caption: 'Share of tasks with k = n.',
    course: 'solved',
    max: 1,
  },
  {
    id: 'calibration',
    title: 'Distance of new tasks from α',
    caption: 'Mean |p̂ − α|, 5-epoch means. Noise alone keeps it above 0.',
    course: 'calibration',
  },
  {
    id: 'kl-of-cap',
    title: 'KL of the simulator over its cap',
    caption: 'To the initial simulator. Near 1 the cap binds: the simulator is pulled back, wherever α is.',
    course: 'simulatorKlOfCap',
  },
];
