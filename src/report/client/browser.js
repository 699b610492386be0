// @ts-nocheck Runs in the browser, without a build; test/report/page.test.ts runs it there.
/* global document */
// The browser of tasks. Model output is text of any kind: it enters the page as text nodes only.
(() => {
  const form = document.getElementById('filters');
  if (!form) return;
  const epochs = JSON.parse(document.getElementById('samples-data').textContent);
  const all = epochs
    .flatMap(({ samples }) => samples)
    .map((sample) => ({ ...sample, haystack: textOf(sample).toLowerCase() }));
  const list = document.getElementById('sample-list');
  const more = document.getElementById('more-samples');
  const pageSize = 24;
  let shown = pageSize;

  function textOf({ id, context, raw, task, prompt, reference, invalidReason, reason, answers }) {
    return [
      id,
      context,
      raw,
      task,
      prompt,
      reference,
      invalidReason,
      reason,
      ...answers.map(({ text }) => text),
    ].join('\n');
  }

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
      if (value !== null) made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const fixed = (value, digits = 2) =>
    typeof value !== 'number' ? '–' : value.toFixed(digits).replace('-', '−');
  const chip = (text, tone, title = null) => element('span', { class: `chip ${tone}`, title }, text);

  const filter = () => {
    const { epoch, kind, valid, kept, low, high, text } = Object.fromEntries(new globalThis.FormData(form));
    const needle = text.trim().toLowerCase();
    const [from, to] = [low === '' ? 0 : Number(low), high === '' ? 1 : Number(high)];
    const wholeRange = from <= 0 && to >= 1;
    return all.filter(
      (sample) =>
        (epoch === 'all' || sample.epoch === Number(epoch)) &&
        (kind === '' || sample.kind === kind) &&
        (valid === '' || sample.valid === (valid === 'valid')) &&
        (kept === '' || sample.keptForSimulator === (kept === 'kept')) &&
        (wholeRange || (sample.rate !== null && sample.rate >= from - 1e-9 && sample.rate <= to + 1e-9)) &&
        (needle === '' || sample.haystack.includes(needle)),
    );
  };

  const dots = (sample) => {
    const box = element('span', { class: 'dots', title: 'one square an attempt' });
    for (const { reward } of sample.answers.filter(({ role }) => role === 'agent'))
      box.append(
        element('i', {
          class: reward === null ? 'none' : reward >= 1 ? 'right' : reward > 0 ? 'partly' : 'wrong',
        }),
      );
    return box;
  };

  const summary = (sample) =>
    element(
      'summary',
      {},
      element('span', { class: 'id' }, sample.id),
      sample.kind === '' ? null : chip(`kind ${sample.kind}`, 'plain'),
      sample.valid
        ? chip(`difficulty ${sample.difficulty}`, 'plain')
        : chip(`invalid: ${sample.invalidReason.replaceAll('_', ' ')}`, 'bad'),
      sample.simulator === 'initial'
        ? chip('initial simulator', 'plain', 'Written by the frozen initial simulator')
        : null,
      sample.source === 'new' ? null : chip(`from ${sample.source}`, 'plain'),
      sample.keptForSimulator === false && sample.valid ? chip(`filtered: ${sample.reason}`, 'warn') : null,
      element('span', { class: 'spacer' }),
      dots(sample),
      element('span', { class: 'rate' }, sample.attempts ? `${sample.successes}/${sample.attempts}` : '–'),
    );

  const block = (title, text, note = '') =>
    text === ''
      ? null
      : element(
          'div',
          { class: 'block' },
          element('h4', {}, title, note === '' ? null : element('small', {}, note)),
          element('pre', {}, text),
        );

  const answer = ({ role, text, reading, reward, disputed, wellFormed, advantage, tokens, finish }) =>
    element(
      'tr',
      {},
      element(
        'td',
        {},
        chip(
          reward === null ? '?' : reward >= 1 ? 'right' : reward > 0 ? fixed(reward) : 'wrong',
          reward === null ? 'plain' : reward >= 1 ? 'good' : reward > 0 ? 'warn' : 'bad',
        ),
        disputed ? chip('verdicts differ', 'bad') : null,
      ),
      element(
        'td',
        { class: 'answer' },
        element('code', {}, text === '' ? '(empty)' : text),
        wellFormed ? null : chip('malformed', 'warn'),
        reading === '' || !wellFormed ? null : element('small', {}, reading),
      ),
      element('td', { class: 'figure' }, advantage === null || role === 'frozen' ? '' : fixed(advantage)),
      element('td', { class: 'figure' }, tokens === null ? '' : String(tokens)),
      element('td', {}, finish),
    );

  const answers = (sample, role, title) => {
    const own = sample.answers.filter((one) => one.role === role);
    if (own.length === 0) return null;
    const head = element(
      'thead',
      {},
      element('tr', {}, ...['', title, 'advantage', 'tokens', 'end'].map((name) => element('th', {}, name))),
    );
    return element(
      'div',
      { class: 'scroll' },
      element('table', { class: 'answers' }, head, element('tbody', {}, ...own.map(answer))),
    );
  };

  const body = (sample) => {
    const facts = [
      ['success rate', fixed(sample.rate)],
      ['counted for the simulator', fixed(sample.targetRate)],
      ['simulator’s reward', fixed(sample.envReward)],
      ['guard factor', fixed(sample.guard)],
      ['frozen agent', fixed(sample.frozenRate)],
      ['random policy', fixed(sample.randomRate)],
      ['repeats before it', String(sample.repeats)],
      ['agent’s update', sample.keptForAgent === null ? '–' : sample.keptForAgent ? 'kept' : 'left out'],
      [
        'simulator’s update',
        sample.keptForSimulator === null
          ? '–'
          : sample.keptForSimulator
            ? 'kept'
            : `filtered, ${sample.reason}`,
      ],
    ];
    return element(
      'div',
      { class: 'opened' },
      element(
        'div',
        {},
        block(
          'The simulator was told',
          sample.context,
          sample.historySuccess === null ? '' : `recent success ${fixed(sample.historySuccess)}`,
        ),
        block('and wrote', sample.raw, sample.policy === '' ? '' : `${sample.policy}, seed ${sample.seed}`),
        block('The task', sample.task),
        element(
          'dl',
          {},
          ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
        ),
      ),
      element(
        'div',
        {},
        block('The agent was given', sample.prompt),
        block('The checker wants', sample.reference),
        answers(sample, 'agent', 'The agent answered') ??
          element(
            'p',
            { class: 'quiet' },
            sample.valid ? 'Its answers are not stored any more.' : 'No task, so no answers.',
          ),
        answers(sample, 'frozen', 'The frozen initial agent answered'),
      ),
    );
  };

  const item = (sample) => {
    const details = element('details', { class: 'panel sample' }, summary(sample));
    details.addEventListener(
      'toggle',
      () => details.open && details.children.length === 1 && details.append(body(sample)),
    );
    return details;
  };

  const render = () => {
    const found = filter();
    list.replaceChildren(...found.slice(0, shown).map(item));
    more.hidden = found.length <= shown;
    const epoch = epochs.find((one) => String(one.epoch) === form.elements.epoch.value);
    document.getElementById('sample-count').textContent =
      `${found.length} of ${epoch ? epoch.samples.length : all.length} sampled tasks${epoch ? ` (epoch ${epoch.epoch} had ${epoch.tasks})` : ` of ${epochs.length} epochs`}.`;
    if (list.firstChild && found.length <= pageSize) list.firstChild.open = true;
  };
  const restart = () => {
    shown = pageSize;
    render();
  };
  const step = (by) => {
    const select = form.elements.epoch;
    select.selectedIndex = Math.min(select.options.length - 1, Math.max(1, select.selectedIndex + by));
    restart();
  };

  form.addEventListener('input', restart);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', () => setTimeout(restart));
  more.addEventListener('click', () => {
    shown += pageSize;
    render();
  });
  document.getElementById('previous-epoch').addEventListener('click', () => step(-1));
  document.getElementById('next-epoch').addEventListener('click', () => step(1));
  document.addEventListener('epoch', ({ detail }) => {
    const nearest = epochs.reduce(
      (best, { epoch }) => (Math.abs(epoch - detail) < Math.abs(best - detail) ? epoch : best),
      epochs[0].epoch,
    );
    form.elements.epoch.value = String(nearest);
    restart();
    document.getElementById('samples').scrollIntoView({ behavior: 'smooth' });
  });
  render();
})();
