import type { ToolSpec } from '../../../formats/chat-messages.ts';
import type { ToolName } from '../tools/planner-tools.ts';

/** Parameters of the tools in their official order, each with its description. */
export const toolParameters: Readonly<
  Record<ToolName, readonly (readonly [name: string, description: string])[]>
> = {
  FlightSearch: [
    ['departure_city', "The city you'll be flying out from."],
    ['destination_city', 'The city you aim to reach.'],
    ['date', 'The date of your travel in YYYY-MM-DD format.'],
  ],
  GoogleDistanceMatrix: [
    ['origin', 'The departure city of your journey.'],
    ['destination', 'The destination city of your journey.'],
    ['mode', "The method of transportation. Choices include 'self-driving' and 'taxi'."],
  ],
  AccommodationSearch: [['city', "The name of the city where you're seeking accommodation."]],
  RestaurantSearch: [['city', "The name of the city where you're seeking restaurants."]],
  AttractionSearch: [['city', "The name of the city where you're seeking attractions."]],
  CitySearch: [['state', "The name of the state where you're seeking cities."]],
  NotebookWrite: [
    [
      'short_description',
      "A brief description or label for the stored data. You don't need to write all the information in the description. The data you've searched for will be automatically stored in the Notebook.",
    ],
  ],
  Planner: [['query', 'The query from user.']],
};

const descriptions: Readonly<Record<ToolName, string>> = {
  FlightSearch: 'A flight information retrieval tool.',
  GoogleDistanceMatrix: 'Estimate the distance, time and cost between two cities.',
  AccommodationSearch: 'Discover accommodations in your desired city.',
  RestaurantSearch: 'Explore dining options in a city of your choice.',
  AttractionSearch: 'Find attractions in a city of your choice.',
  CitySearch: 'Find cities in a state of your choice.',
  NotebookWrite:
    'Writes a new data entry into the Notebook tool with a short description. This tool should be used immediately after FlightSearch, AccommodationSearch, AttractionSearch, RestaurantSearch or GoogleDistanceMatrix. Only the data stored in Notebook can be seen by Planner. So you should write all the information you need into Notebook.',
  Planner:
    'A smart planning tool that crafts detailed plans based on user input and the information stored in Notebook.',
};

/** The official prompt's tools, in its words, for servers that take tools natively. */
export const toolSpecs: readonly ToolSpec[] = (Object.keys(toolParameters) as ToolName[]).map((name) => ({
  name,
  description: descriptions[name],
  parameters: {
    type: 'object',
    properties: Object.fromEntries(
      toolParameters[name].map(([parameter, description]) => [parameter, { type: 'string', description }]),
    ),
    required: toolParameters[name].map(([parameter]) => parameter),
  },
}));

/** The official instruction, less what describes the tools and the form of ReAct. */
export const nativeInstruction =
  'Collect information for a query plan. Ensure you gather valid information related to transportation, dining, attractions, and accommodation. All information should be written in Notebook, which will then be input into the Planner tool. Note that the nested use of tools is prohibited. You should use as many as possible steps to collect enough information to input to the Planner tool.';
