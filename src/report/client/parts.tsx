/** Small parts of pages. */
import type { ComponentChildren } from 'preact';

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

interface ChipProps {
  tone: Tone;
  title?: string;
  children: ComponentChildren;
}

export const Chip = ({ tone, title, children }: ChipProps) => (
  <span class={`chip ${tone}`} title={title}>
    {children}
  </span>
);

interface BlockProps {
  title: string;
  text: string;
  note?: string;
  /** What stands in the place of no text; without it the block is left out. */
  none?: string;
}

/** A text under its title. */
export const Block = ({ title, text, note = '', none }: BlockProps) =>
  text === '' && none === undefined ? null : (
    <div class="block">
      <h3 class="label">
        {title}
        {note !== '' && <small>{note}</small>}
      </h3>
      {text === '' ? <p class="quiet">{none}</p> : <pre>{text}</pre>}
    </div>
  );

/** Names with their values. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) => (
  <dl>
    {facts.flatMap(([name, value]) => [<dt key={`${name} name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
  </dl>
);

/** What some names mean, for those who open it. */
export const Meanings = ({
  title,
  facts,
}: {
  title: string;
  facts: readonly (readonly [string, string])[];
}) => (
  <details>
    <summary>{title}</summary>
    <Facts facts={facts} />
  </details>
);

interface ChoiceProps {
  name: string;
  value: string;
  choices: readonly string[];
  /** Value of the choice of all. */
  every?: string;
  onChange: (value: string) => void;
}

/** A choice under its label. */
export const ChoiceField = ({ label, ...choice }: ChoiceProps & { label: string }) => (
  <label>
    {label} <Choice {...choice} />
  </label>
);

/** A choice among values, or all of them. */
export const Choice = ({ name, value, choices, every = '', onChange }: ChoiceProps) => (
  <select name={name} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
    <option value={every}>all</option>
    {(value === every || choices.includes(value) ? choices : [...choices, value]).map((choice) => (
      <option key={choice} value={choice}>
        {choice}
      </option>
    ))}
  </select>
);

interface PagerProps {
  /** What a page consists of: `Tasks`. */
  items: string;
  offset: number;
  matching: number;
  pageSize: number;
  onPage: (offset: number) => void;
}

/** Leads to the pages before and after; nothing if there is one alone. */
export const Pager = ({ items, offset, matching, pageSize, onPage }: PagerProps) =>
  matching <= pageSize ? null : (
    <p class="pager">
      <button type="button" disabled={offset === 0} onClick={() => onPage(Math.max(0, offset - pageSize))}>
        {items} before
      </button>{' '}
      <button
        type="button"
        disabled={offset + pageSize >= matching}
        onClick={() => onPage(offset + pageSize)}
      >
        {items} after
      </button>
    </p>
  );
