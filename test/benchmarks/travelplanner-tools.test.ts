import { describe, expect, it } from 'vitest';
import { MASKED_TEXT, PlannerTools } from '../../src/benchmarks/travelplanner/tools/planner-tools.ts';
import type { Answer } from '../../src/formats/chat-messages.ts';
import { contentOf, goldPlan, openTravel, scripted, task, toolCall, train } from './travelplanner-support.ts';

const planned = JSON.stringify(goldPlan(1));
const react = await openTravel('tooluse', 'prompt');
const native = await openTravel('tooluse', 'native');
const correct = async (
  suite: typeof react,
  response: Parameters<typeof react.judge>[0][number]['response'],
): Promise<boolean> =>
  (await suite.judge([{ item: suite.cases[0]!, response }], new AbortController().signal))[0]!.correct;

/** Lines that a policy says, a thought before every action. */
const acting = (...actions: string[]): string[] => actions.flatMap((action) => ['I continue.', action]);

describe('tools of the sandbox', () => {
  const call = (tool: string, ...args: string[]) => new PlannerTools(train.sandbox).call(tool, args);

  it('find flights of a day, as a table', () => {
    expect(call('FlightSearch', 'St. Petersburg', 'Rockford', '2022-03-16').text).toBe(
      [
        'Flight Number  Price DepTime ArrTime  ActualElapsedTime FlightDate OriginCityName DestCityName  Distance',
        '     F3573659    474   15:40   17:04 2 hours 24 minutes 2022-03-16 St. Petersburg     Rockford    1049.0',
      ].join('\n'),
    );
    expect(call('FlightSearch', 'St. Petersburg', 'Rockford', '2022-03-17')).toMatchObject({
      text: 'There is no flight from St. Petersburg to Rockford on 2022-03-17.',
      failed: false,
    });
  });

  it('find what a city has, the cities of a state, and ways by car', () => {
    expect(call('RestaurantSearch', 'Rockford').text.split('\n').slice(0, 2).join('\n')).toMatch(
      /Name {2}Average Cost +Cuisines {2}Aggregate Rating +City\n +Coco Bambu +72 +Tea, French, Bakery, BBQ, Cafe +4\.9 Rockford$/u,
    );
    expect(call('AccommodationSearch', 'Rockford').text.split('\n')).toHaveLength(
      1 + train.sandbox.accommodations('Rockford').length,
    );
    expect(call('AttractionSearch', 'Rockford').text).toContain(
      'Burpee Museum of Natural History 42.277324 -89.088142',
    );
    expect(call('CitySearch', 'Pennsylvania').text).toBe(
      "['Johnstown', 'Philadelphia', 'Pittsburgh', 'State College']",
    );
    expect(call('CitySearch', 'Atlantis').text).toBe('Invalid State');
    expect(call('GoogleDistanceMatrix', 'Kansas City', 'Pensacola', 'self-driving').text).toBe(
      'self-driving, from Kansas City to Pensacola, duration: 14 hours 4 mins, distance: 1,433 km, cost: 71',
    );
    expect(call('GoogleDistanceMatrix', 'Kansas City', 'Pensacola', 'taxi').text).toContain('cost: 1433');
    expect(call('GoogleDistanceMatrix', 'Rockford', 'Rockford', 'taxi').text).toBe(
      'taxi, from Rockford to Rockford, no valid information.',
    );
  });

  it('say what is wrong with a call', () => {
    expect(call('FlightSearch', 'St. Petersburg', 'Rockford', 'March 16')).toMatchObject({
      text: "'March 16' is not in the format YYYY-MM-DD",
      failed: true,
    });
    expect(call('FlightSearch', 'St. Petersburg')).toMatchObject({
      text: 'Illegal Flight Search. Please try again.',
      failed: true,
    });
    expect(call('RestaurantSearch', 'Atlantis').text).toMatch(
      /^Atlantis is not valid city in \['Abilene', /u,
    );
    expect(call('CarRental', 'Rockford').text).toMatch(
      /^Invalid Action\. Valid Actions are {2}FlightSearch/u,
    );
    expect(call('constructor', 'Rockford').failed).toBe(true);
  });

  it('write what was found last to the notebook', () => {
    const desk = new PlannerTools(train.sandbox);
    desk.call('GoogleDistanceMatrix', ['Rockford', 'Rockford', 'taxi']);
    // A list of cities is not kept, as officially.
    desk.call('CitySearch', ['Texas']);
    expect(desk.call('NotebookWrite', ['the taxi', 'if any']).text).toBe(
      'The information has been recorded in Notebook, and its index is 0.',
    );
    expect(desk.notebook).toBe(
      "[{'index': 0, 'Short Description': 'the taxi, if any', 'Content': 'taxi, from Rockford to Rockford, no valid information.'}]",
    );
  });
});

describe('the database that is rebuilt from the train tasks', () => {
  it('has as many rows as the golden table was made with', () => {
    const { cities, ...tables } = train.sandbox;
    const all = (rows: (city: string) => readonly unknown[]): number =>
      cities.reduce((sum, city) => sum + rows(city).length, 0);
    const pairs = cities.flatMap((from) => cities.map((to) => [from, to] as const));
    expect({
      cities: cities.length,
      flights: pairs.reduce((sum, [from, to]) => sum + tables.flights(from, to).length, 0),
      restaurants: all(tables.restaurants),
      accommodations: all(tables.accommodations),
      attractions: all(tables.attractions),
      distances: pairs.filter(([from, to]) => tables.distance(from, to) !== undefined).length,
    }).toEqual({
      cities: 92,
      flights: 313,
      restaurants: 1989,
      accommodations: 790,
      attractions: 1282,
      distances: 123,
    });
  });

  it('has each flight number once', () => {
    const { cities, flights } = train.sandbox;
    const numbers = cities.flatMap((from) =>
      cities.flatMap((to) => flights(from, to).map((flight) => flight['Flight Number'])),
    );
    expect(new Set(numbers).size).toBe(numbers.length);
  });
});

describe('tool use by ReAct', () => {
  it('collects, writes down, and plans from the notebook alone', async () => {
    const policy = scripted([
      ...acting(
        'FlightSearch[St. Petersburg, Rockford, 2022-03-16]',
        'NotebookWrite[Flights there]',
        'RestaurantSearch[Rockford]',
        'Planner[Plan my trip]',
      ),
      planned,
    ]);
    const response = await react.attempt(task(1), policy);
    expect(response).toEqual({ answer: planned, steps: 4, end: 'stop' });
    expect(await correct(react, response)).toBe(true);
    const [thought, action] = policy.questions;
    expect(contentOf(thought!)).toMatch(
      /Query: Please help me plan a trip from St\. Petersburg[^\n]*\nThought 1:$/u,
    );
    expect(contentOf(action!)).toMatch(/\nThought 1: I continue\.\nAction 1:$/u);
    expect(
      policy.questions
        .slice(0, -1)
        .every((question) => question.stop?.join() === '\n' && question.tools === undefined),
    ).toBe(true);
    expect(contentOf(policy.questions[2]!)).toContain('Observation 1: Flight Number  Price');
    // Once it is in the notebook the table is masked.
    expect(contentOf(policy.questions[4]!)).toContain(
      `Observation 1: ${MASKED_TEXT}\nThought 2: I continue.\nAction 2: NotebookWrite[Flights there]\nObservation 2: The information has been recorded`,
    );
    const plan = contentOf(policy.questions.at(-1)!);
    expect(plan).toContain('F3573659');
    expect(plan).not.toContain('Coco Bambu');
    expect(plan).toMatch(/\nQuery: Plan my trip\nTravel Plan:$/u);
  });

  it('asks the same when it is given the same', async () => {
    const script = [
      ...acting('RestaurantSearch[Rockford]', 'Nonsense', 'NotebookWrite[Food]', 'Planner[Plan]'),
      planned,
    ];
    const [first, second] = [scripted(script), scripted(script)];
    expect(await react.attempt(task(1), first)).toEqual(await react.attempt(task(1), second));
    expect(first.questions).toEqual(second.questions);
  });

  it('ends after 30 steps without a plan', async () => {
    const cities = train.sandbox.cities.slice(0, 30);
    const policy = scripted(acting(...cities.map((city) => `RestaurantSearch[${city}]`)));
    const response = await react.attempt(task(1), policy);
    expect(response).toEqual({ answer: '', steps: 30, end: 'no plan within 30 steps' });
    expect(policy.questions).toHaveLength(60);
    expect(await correct(react, response)).toBe(false);
  });

  it.each<[string, string[], { steps: number; end: string }]>([
    [
      'at an action said three times',
      acting('CitySearch[Texas]', 'CitySearch[Texas]', 'CitySearch[Texas]'),
      { steps: 3, end: 'the same action three times in a row' },
    ],
    [
      'at what is no action, the fourth time',
      acting('Fly[a]', 'I would rather fly', 'Fly[c]', 'Fly[d]'),
      { steps: 4, end: 'an invalid action failed three times' },
    ],
    [
      'at a tool that failed three times',
      acting('RestaurantSearch[A]', 'RestaurantSearch[B]', 'RestaurantSearch[C]', 'RestaurantSearch[D]'),
      { steps: 4, end: 'RestaurantSearch failed three times' },
    ],
    ['at silence', acting('', '', ''), { steps: 3, end: 'the same action three times in a row' }],
  ])('gives up %s', async (_, script, expected) => {
    expect(await react.attempt(task(1), scripted(script))).toEqual({ answer: '', ...expected });
  });

  it('forgives failures once a tool has worked', async () => {
    const failing = ['RestaurantSearch[A]', 'RestaurantSearch[B]', 'RestaurantSearch[C]'];
    const policy = scripted([
      ...acting(...failing, 'CitySearch[Texas]', ...failing, 'Planner[Plan]'),
      planned,
    ]);
    expect(await react.attempt(task(1), policy)).toMatchObject({ steps: 8, answer: planned });
  });

  it('ends where the policy cannot read its prompt, and reads one line of what it says', async () => {
    expect(await react.attempt(task(1), scripted([{ finish_reason: 'prompt_too_long' }]))).toEqual({
      answer: '',
      steps: 0,
      end: 'prompt_too_long',
    });
    const policy = scripted(['\nthink \ud800\nmore', 'Planner[Plan]\nObservation 1: done', planned]);
    expect(await react.attempt(task(1), policy)).toMatchObject({ steps: 1, answer: planned });
    expect(contentOf(policy.questions[1]!)).toMatch(/Thought 1: think \uFFFD\nAction 1:$/u);
  });
});

describe('tool use by native calls', () => {
  const calling = (...toolCalls: ReturnType<typeof toolCall>[]): Partial<Answer> => ({
    toolCalls,
    finish_reason: 'tool_calls',
  });

  it('collects, writes down, and plans from the notebook alone', async () => {
    const flights = toolCall('FlightSearch', {
      departure_city: 'St. Petersburg',
      destination_city: 'Rockford',
      date: '2022-03-16',
    });
    const policy = scripted([
      calling(flights, toolCall('NotebookWrite', { short_description: 'Flights' })),
      calling(toolCall('Planner', { query: 'Plan my trip' })),
      planned,
    ]);
    const response = await native.attempt(task(1), policy);
    expect(response).toEqual({ answer: planned, steps: 3, end: 'stop' });
    expect(await correct(native, response)).toBe(true);
    expect(policy.questions[0]!.tools!.map(({ name }) => name)).toEqual([
      'FlightSearch',
      'GoogleDistanceMatrix',
      'AccommodationSearch',
      'RestaurantSearch',
      'AttractionSearch',
      'CitySearch',
      'NotebookWrite',
      'Planner',
    ]);
    expect(policy.questions[1]!.messages.slice(2)).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', toolCallId: flights.id, content: MASKED_TEXT },
      { role: 'tool', content: expect.stringContaining('recorded in Notebook') as string },
    ]);
    expect(policy.questions[2]!.tools).toBeUndefined();
    expect(contentOf(policy.questions[2]!)).toContain('F3573659');
  });

  it.each(['{', 'null', '[]', '{"city": 7}', '{"City": "Rockford"}', '{"__proto__": {"city": "Rockford"}}'])(
    'says of arguments %s that they are illegal',
    async (args) => {
      const policy = scripted([calling(toolCall('RestaurantSearch', args)), { text: 'I give up.' }]);
      expect(await native.attempt(task(1), policy)).toEqual({
        answer: '',
        steps: 1,
        end: 'it ended without a call of Planner',
      });
      expect(policy.questions[1]!.messages.at(-1)).toMatchObject({
        content: 'Illegal arguments of RestaurantSearch. Please try again.',
      });
    },
  );

  it('ends at its limits', async () => {
    const search = (city: string) => toolCall('RestaurantSearch', { city });
    const many = train.sandbox.cities.slice(0, 40).map(search);
    expect(await native.attempt(task(1), scripted([calling(...many)]))).toEqual({
      answer: '',
      steps: 30,
      end: 'no plan within 30 steps',
    });
    expect(
      await native.attempt(
        task(1),
        scripted([calling(search('Rockford')), calling(search('Rockford')), calling(search('Rockford'))]),
      ),
    ).toMatchObject({ steps: 3, end: 'the same action three times in a row' });
    expect(
      await native.attempt(
        task(1),
        scripted([calling(...['a', 'b', 'c', 'd'].map((name) => toolCall(name, {})))]),
      ),
    ).toMatchObject({ steps: 4, end: 'an invalid action failed three times' });
    expect(await native.attempt(task(1), scripted([{ finish_reason: 'prompt_too_long' }]))).toMatchObject({
      end: 'prompt_too_long',
    });
  });
});

describe('sole planning', () => {
  it('gives all reference information in the official form, and asks once', async () => {
    const suite = await openTravel('soleplanning');
    const policy = scripted([planned]);
    expect(await suite.attempt(task(1), policy)).toEqual({ answer: planned, steps: 0, end: 'stop' });
    const prompt = contentOf(policy.questions[0]!);
    expect(prompt).toContain('You are a proficient planner.');
    expect(prompt).toContain(
      "Given information: [{'Description': 'Attractions in Rockford', 'Content': \"                                   Name  Latitude  Longitude ",
    );
    expect(prompt).toContain(
      "{'Description': 'Taxi from Rockford to St. Petersburg', 'Content': 'No valid information.'}]\nQuery: Please help me plan",
    );
  });
});
