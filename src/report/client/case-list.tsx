/** The cases of an evaluation, or of two, by filters. What models wrote is text of any kind, and stays text. */
import { useMemo, useState } from 'preact/hooks';
import { caseChoices, matchesCase, noCaseFilters } from '../../evaluation/shown-case.ts';
import type { CaseChoices, CaseFilters, ShownAnswer, ShownCase } from '../../evaluation/shown-case.ts';
import type { FittingCases } from '../fit-cases.ts';
import { Block, Chip, ChoiceField, Pager } from './parts.tsx';

const PAGE_CASES = 50;

/** All cases that a page holds. */
export function CaseBrowser({ cases, cut }: FittingCases) {
  const [filters, setFilters] = useState(noCaseFilters);
  const [offset, setOffset] = useState(0);
  const choices = useMemo(() => caseChoices(cases), [cases]);
  const matching = useMemo(() => cases.filter((shown) => matchesCase(shown, filters)), [cases, filters]);
  if (cases.length === 0) return <p class="quiet">There are no cases to show.</p>;
  return (
    <>
      {cut !== null && (
        <p class="note warn" id="cut">
          {cut}
        </p>
      )}
      <CaseForm
        filters={filters}
        choices={choices}
        onChange={(changed) => {
          setFilters({ ...filters, ...changed });
          setOffset(0);
        }}
      />
      <CaseList
        cases={matching.slice(offset, offset + PAGE_CASES)}
        {...{ offset, matching: matching.length, total: cases.length, pageSize: PAGE_CASES }}
        onPage={(at) => {
          setOffset(at);
          document.getElementById('cases')?.scrollIntoView();
        }}
      />
    </>
  );
}

interface CaseFormProps {
  filters: CaseFilters;
  choices: CaseChoices;
  onChange: (changed: Partial<CaseFilters>) => void;
}

export const CaseForm = ({ filters, choices, onChange }: CaseFormProps) => (
  <form
    class="panel filters"
    autocomplete="off"
    onSubmit={(event) => event.preventDefault()}
    onReset={(event) => {
      event.preventDefault();
      onChange(noCaseFilters);
    }}
  >
    <ChoiceField
      label="Suite"
      name="suite"
      value={filters.suite}
      choices={choices.suites}
      onChange={(suite) => onChange({ suite })}
    />
    <ChoiceField
      label="Verdict"
      name="outcome"
      value={filters.outcome}
      choices={choices.outcomes}
      onChange={(outcome) => onChange({ outcome })}
    />
    <ChoiceField
      label="Reason"
      name="reason"
      value={filters.reason}
      choices={choices.reasons}
      onChange={(reason) => onChange({ reason })}
    />
    <label class="grow">
      Text{' '}
      <input
        name="text"
        type="search"
        placeholder="in ids, questions, answers, keys and reasons"
        value={filters.text}
        onInput={(event) => onChange({ text: event.currentTarget.value })}
      />
    </label>
    <button type="reset">Reset</button>
  </form>
);

interface CaseListProps {
  /** Those of the page. */
  cases: readonly ShownCase[];
  offset: number;
  matching: number;
  total: number;
  pageSize: number;
  onPage: (offset: number) => void;
}

/** A page of cases. */
export const CaseList = ({ cases, offset, matching, total, pageSize, onPage }: CaseListProps) => (
  <>
    <p class="quiet" id="case-count" aria-live="polite">
      {cases.length === 0 ? 'no cases' : `cases ${offset + 1} to ${offset + cases.length}`} of {matching}
      {matching < total && ` that match, of ${total}`}
    </p>
    <Pager items="Cases" {...{ offset, matching, pageSize, onPage }} />
    <div id="case-list">
      {cases.map((shown) => (
        <CaseCard key={`${shown.suite} ${shown.id}`} shown={shown} />
      ))}
    </div>
    <Pager items="Cases" {...{ offset, matching, pageSize, onPage }} />
  </>
);

/** A case that opens to its question, its answers, the verdict on each with its reason, and the answer key. */
function CaseCard({ shown }: { shown: ShownCase }) {
  const [isOpen, setOpen] = useState(false);
  const { suite, id, outcome, tone, question, gold, answers } = shown;
  const reasons = new Set(answers.map(({ reason }) => reason).filter((reason) => reason !== ''));
  return (
    <details class="panel sample" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="id">{id}</span>
        <Chip tone="plain">{suite}</Chip>
        <Chip tone={tone}>{outcome}</Chip>
        {answers.some(({ converted }) => converted) && <Chip tone="warn">converted</Chip>}
        {[...reasons].map((reason) => (
          <span key={reason} class="quiet">
            {reason}
          </span>
        ))}
      </summary>
      {isOpen && (
        <div class="opened">
          <div>
            <Block title="Question" text={question} none="Nobody was asked, or it was not kept." />
          </div>
          <div>
            {answers.map((answer, index) => (
              <Answer key={index} answer={answer} />
            ))}
            <Block title="The answer key has" text={gold} none="There is no key, or it was not kept." />
          </div>
        </div>
      )}
    </details>
  );
}

const Answer = ({ answer: { title, correct, reason, converted, scores, text } }: { answer: ShownAnswer }) => (
  <>
    <Block
      title={title}
      text={text}
      note={scores.map(([name, value]) => `${name} ${value}`).join(', ')}
      none="(empty)"
    />
    <p class="quiet">
      <Chip tone={correct ? 'good' : 'bad'}>{correct ? 'right' : 'wrong'}</Chip>
      {converted && <Chip tone="warn">converted</Chip>}
      {reason}
    </p>
  </>
);
