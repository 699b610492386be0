// @ts-nocheck Runs in the browser, without a build; test/report/evaluation-page.test.ts runs it there.
/* global document */
// The browser of an evaluation's cases. What models wrote is text of any kind: it enters the page as text nodes only.
(() => {
  const form = document.getElementById('case-filters');
  if (!form) return;
  const all = JSON.parse(document.getElementById('cases-data').textContent);
  const haystacks = new Map();
  const list = document.getElementById('case-list');
  const [previous, next] = ['previous-cases', 'next-cases'].map((id) => document.getElementById(id));
  const pageSize = 50;
  let found = all;
  let page = 0;

  const haystackOf = (shown) => {
    let text = haystacks.get(shown);
    if (text === undefined) {
      text = [shown.id, shown.question, shown.gold, ...shown.answers.map((answer) => answer.text)]
        .join('\n')
        .toLowerCase();
      haystacks.set(shown, text);
    }
    return text;
  };

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const chip = (text, tone) => element('span', { class: `chip ${tone}` }, text);

  const filter = () => {
    const { suite, outcome, reason, text } = Object.fromEntries(new globalThis.FormData(form));
    const needle = text.trim().toLowerCase();
    return all.filter(
      (shown) =>
        (suite === '' || shown.suite === suite) &&
        (outcome === '' || shown.outcome === outcome) &&
        (reason === '' || shown.answers.some((answer) => answer.reason === reason)) &&
        (needle === '' || haystackOf(shown).includes(needle)),
    );
  };

  const summary = (shown) =>
    element(
      'summary',
      {},
      element('span', { class: 'id' }, shown.id),
      chip(shown.suite, 'plain'),
      chip(shown.outcome, shown.tone),
      shown.answers.some((answer) => answer.converted) ? chip('converted', 'warn') : null,
      ...[...new Set(shown.answers.map((answer) => answer.reason))]
        .filter((reason) => reason !== '')
        .map((reason) => element('span', { class: 'quiet' }, reason)),
    );

  const block = (title, text, note, empty) =>
    element(
      'div',
      { class: 'block' },
      element('h4', {}, title, note === '' ? null : element('small', {}, note)),
      text === '' ? element('p', { class: 'quiet' }, empty) : element('pre', {}, text),
    );

  const answer = ({ title, correct, reason, converted, scores, text }) =>
    element(
      'div',
      {},
      block(title, text, scores.map(([name, value]) => `${name} ${value}`).join(', '), '(empty)'),
      element(
        'p',
        { class: 'quiet' },
        chip(correct ? 'right' : 'wrong', correct ? 'good' : 'bad'),
        converted ? chip('converted', 'warn') : null,
        reason,
      ),
    );

  const body = (shown) =>
    element(
      'div',
      { class: 'opened' },
      element('div', {}, block('Question', shown.question, '', 'Nobody was asked, or it was not kept.')),
      element(
        'div',
        {},
        ...shown.answers.map(answer),
        block('The answer key has', shown.gold, '', 'There is no key, or it was not kept.'),
      ),
    );

  const item = (shown) => {
    const details = element('details', { class: 'panel sample' }, summary(shown));
    details.addEventListener(
      'toggle',
      () => details.open && details.children.length === 1 && details.append(body(shown)),
    );
    return details;
  };

  const render = () => {
    const from = page * pageSize;
    const shown = found.slice(from, from + pageSize);
    list.replaceChildren(...shown.map(item));
    const range = shown.length === 0 ? 'no cases' : `cases ${from + 1} to ${from + shown.length}`;
    document.getElementById('case-count').textContent =
      `${range} of ${found.length}${found.length === all.length ? '' : ` that fit, of ${all.length}`}`;
    previous.disabled = page === 0;
    next.disabled = from + pageSize >= found.length;
  };
  const restart = () => {
    found = filter();
    page = 0;
    render();
  };
  const turn = (by) => {
    page += by;
    render();
    document.getElementById('cases').scrollIntoView();
  };

  form.addEventListener('input', restart);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', () => setTimeout(restart));
  previous.addEventListener('click', () => turn(-1));
  next.addEventListener('click', () => turn(1));
  render();
})();
