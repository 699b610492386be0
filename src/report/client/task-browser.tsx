import { useMemo, useState } from 'preact/hooks';
import type { Sample } from '../describe-sample.ts';
import type { SampledEpoch } from '../samples.ts';
import { Choice, ChoiceField } from './parts.tsx';
import { TaskCard } from './task-card.tsx';

const NO_SAMPLES =
  'No stored tasks to show: no epoch is committed yet, or their files are pruned or missing.';
const BROWSER_LEAD =
  'Some tasks of some epochs, chosen evenly from never to always solved: ' +
  'what the simulator was told and wrote, what the agent answered, and what came of it.';
const PAGE_TASKS = 24;

interface Filters {
  /** An epoch's number, or `all`. */
  epoch: string;
  kind: string;
  valid: string;
  kept: string;
  low: string;
  high: string;
  text: string;
}

const noFilters = (epoch: string): Filters => ({
  epoch,
  kind: '',
  valid: '',
  kept: '',
  low: '0',
  high: '1',
  text: '',
});

/**
 * The sampled tasks of a report, by filters.
 * @param epoch the epoch to show first, such as one that was clicked in a figure
 */
export function TaskBrowser({ epochs, epoch }: { epochs: readonly SampledEpoch[]; epoch: number | null }) {
  const last = String(epochs.at(-1)?.epoch ?? 'all');
  const [filters, setFilters] = useState(noFilters(last));
  const [shown, setShown] = useState(PAGE_TASKS);
  const [clicked, setClicked] = useState<number | null>(null);
  const all = useMemo(() => epochs.flatMap(({ samples }) => samples), [epochs]);
  if (epoch !== clicked) {
    setClicked(epoch);
    if (epoch !== null && epochs.length > 0)
      setFilters({ ...filters, epoch: String(nearest(epochs, epoch)) });
  }
  if (all.length === 0) return <p class="quiet">{NO_SAMPLES}</p>;
  const change = (changed: Partial<Filters>) => {
    setFilters({ ...filters, ...changed });
    setShown(PAGE_TASKS);
  };
  const step = (by: number) => {
    const place = epochs.findIndex((sampled) => String(sampled.epoch) === filters.epoch);
    const next = epochs[Math.min(epochs.length - 1, Math.max(0, place + by))];
    if (next !== undefined) change({ epoch: String(next.epoch) });
  };
  const matching = all.filter((sample) => matches(sample, filters));
  const sampled = epochs.find(({ epoch: number }) => String(number) === filters.epoch);
  return (
    <>
      <p class="lead">{BROWSER_LEAD}</p>
      <form
        class="panel filters"
        id="filters"
        autocomplete="off"
        onSubmit={(event) => event.preventDefault()}
        onReset={(event) => {
          event.preventDefault();
          change(noFilters(last));
        }}
      >
        <label>
          Epoch{' '}
          <span class="pair">
            <button type="button" id="previous-epoch" aria-label="previous epoch" onClick={() => step(-1)}>
              ‹
            </button>
            <Choice
              name="epoch"
              value={filters.epoch}
              choices={epochs.map(({ epoch: number }) => String(number))}
              every="all"
              onChange={(value) => change({ epoch: value })}
            />
            <button type="button" id="next-epoch" aria-label="next epoch" onClick={() => step(1)}>
              ›
            </button>
          </span>
        </label>
        <FilterFields
          filters={filters}
          kinds={kindsOf(all)}
          placeholder="in tasks, contexts and answers"
          onChange={change}
        />
        <button type="reset">Reset</button>
      </form>
      <p class="quiet" id="sample-count" aria-live="polite">
        {countText(matching.length, all.length, epochs.length, sampled)}
      </p>
      <div id="sample-list">
        {matching.slice(0, shown).map((sample, index) => (
          <TaskCard key={sample.id} sample={sample} isOpen={index === 0 && matching.length <= PAGE_TASKS} />
        ))}
      </div>
      {matching.length > shown && (
        <button type="button" id="more-samples" onClick={() => setShown(shown + PAGE_TASKS)}>
          Show more
        </button>
      )}
    </>
  );
}

const nearest = (epochs: readonly SampledEpoch[], wanted: number): number =>
  epochs.reduce(
    (best, { epoch }) => (Math.abs(epoch - wanted) < Math.abs(best - wanted) ? epoch : best),
    epochs[0]!.epoch,
  );

const kindsOf = (samples: readonly Sample[]): string[] =>
  [...new Set(samples.map(({ kind }) => kind))].filter((kind) => kind !== '').sort();

function countText(count: number, all: number, epochs: number, sampled: SampledEpoch | undefined): string {
  return sampled === undefined
    ? `${count} of ${all} sampled tasks of ${epochs} epochs.`
    : `${count} of ${sampled.samples.length} sampled tasks (epoch ${sampled.epoch} had ${sampled.tasks}).`;
}

export type TaskFilters = Omit<Filters, 'epoch'>;

/** Filters by kind, validity, use, success and text. */
export function FilterFields({
  filters,
  kinds,
  placeholder,
  onChange,
}: {
  filters: TaskFilters;
  kinds: readonly string[];
  placeholder: string;
  onChange: (changed: Partial<TaskFilters>) => void;
}) {
  const rate = (name: 'low' | 'high', label: string) => (
    <input
      name={name}
      type="number"
      min="0"
      max="1"
      step="0.05"
      value={filters[name]}
      aria-label={label}
      onInput={(event) => onChange({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <>
      <ChoiceField
        label="Kind"
        name="kind"
        value={filters.kind}
        choices={kinds}
        onChange={(kind) => onChange({ kind })}
      />
      <ChoiceField
        label="Task"
        name="valid"
        value={filters.valid}
        choices={['valid', 'invalid']}
        onChange={(valid) => onChange({ valid })}
      />
      <ChoiceField
        label="Simulator’s update"
        name="kept"
        value={filters.kept}
        choices={['kept', 'left out']}
        onChange={(kept) => onChange({ kept })}
      />
      <fieldset class="pair">
        <legend>Success</legend>
        {rate('low', 'lowest success rate')} to {rate('high', 'highest success rate')}
      </fieldset>
      <label class="grow">
        Text{' '}
        <input
          name="text"
          type="search"
          placeholder={placeholder}
          value={filters.text}
          onInput={(event) => onChange({ text: event.currentTarget.value })}
        />
      </label>
    </>
  );
}

function matches(sample: Sample, { epoch, kind, valid, kept, low, high, text }: Filters): boolean {
  const [from, to] = [low === '' ? 0 : Number(low), high === '' ? 1 : Number(high)];
  const wholeRange = from <= 0 && to >= 1;
  const needle = text.trim().toLowerCase();
  return (
    (epoch === 'all' || sample.epoch === Number(epoch)) &&
    (kind === '' || sample.kind === kind) &&
    (valid === '' || sample.valid === (valid === 'valid')) &&
    (kept === '' || sample.keptForSimulator === (kept === 'kept')) &&
    (wholeRange || (sample.rate !== null && sample.rate >= from - 1e-9 && sample.rate <= to + 1e-9)) &&
    (needle === '' || textOf(sample).toLowerCase().includes(needle))
  );
}

const textOf = ({
  id,
  context,
  raw,
  task,
  prompt,
  reference,
  invalidReason,
  reason,
  answers,
}: Sample): string =>
  [id, context, raw, task, prompt, reference, invalidReason, reason, ...answers.map(({ text }) => text)].join(
    '\n',
  );
