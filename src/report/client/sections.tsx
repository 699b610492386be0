import { render } from 'preact';
import type { ComponentChildren, ComponentType } from 'preact';

export interface Section {
  id: string;
  /** In the navigation. */
  short: string;
  title: string;
  /** Null or false for a section that is left out. */
  body: ComponentChildren;
}

interface SectionsProps {
  sections: readonly Section[];
  /** Address of a section, where `#<id>` is none. */
  linkTo?: (section: string) => string;
  /** What stands between the navigation and the first section. */
  children?: ComponentChildren;
}

/** Sections with their navigation; those without content are left out. */
export function Sections({ sections, linkTo, children }: SectionsProps) {
  const shown = sections.filter(({ body }) => body !== null && body !== undefined && body !== false);
  return (
    <>
      <nav aria-label="Sections">
        {shown.map(({ id, short }) => (
          <a
            key={id}
            href={linkTo?.(id) ?? `#${id}`}
            onClick={(event) => {
              // An address of its own is another page to the browser, which would read it anew.
              if (linkTo === undefined) return;
              event.preventDefault();
              showSection(id);
            }}
          >
            {short}
          </a>
        ))}
      </nav>
      {children}
      {shown.map(({ id, title, body }) => (
        <section key={id} id={id} tabIndex={-1}>
          <h2>{title}</h2>
          {body}
        </section>
      ))}
    </>
  );
}

/** Brings a section to the top, and the keyboard with it. */
export function showSection(id: string): void {
  const section = document.getElementById(id);
  section?.scrollIntoView({ behavior: 'instant' });
  section?.focus({ preventScroll: true });
}

/**
 * Shows a static page, of the data that it holds.
 * @param name of the element of data, less `-data`
 */
export function renderPage<Data extends object>(name: string, Page: ComponentType<Data>): void {
  const data = JSON.parse(document.getElementById(`${name}-data`)?.textContent ?? '') as Data;
  render(<Page {...data} />, document.getElementById('page')!);
}
