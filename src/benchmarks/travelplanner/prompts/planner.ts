import type { Question } from '../../../formats/chat-messages.ts';

/**
 * The official direct prompt for planning (agents/prompts.py, PLANNER_INSTRUCTION), but that the plan is
 * asked for as JSON. Officially a plan is written in prose and GPT-4 turns it into JSON; the rules of the
 * form and the example are those that GPT-4 is given for it (postprocess/openai_request.py). No hint at what
 * the evaluation checks is added: the authors forbid it.
 */
export function plannerQuestion(information: string, query: string): Question {
  return {
    messages: [
      {
        role: 'user',
        content: `${instruction}\n\nGiven information: ${information}\nQuery: ${query}\nTravel Plan:`,
      },
    ],
  };
}

const instruction = `You are a proficient planner. Based on the provided information and query, please give me a detailed plan, including specifics such as flight numbers (e.g., F0123456), restaurant names, and accommodation names. Note that all the information in your plan should be derived from the provided data. You must adhere to the format given in the example. Additionally, all details should align with commonsense. The symbol '-' indicates that information is unnecessary. For example, in the provided sample, you do not need to plan after returning to the departure city. When you travel to two cities in one day, you should note it in the 'current_city' section as in the example (i.e., from A to B).

Give the plan in JSON format: a list with one item for each day. Each item should include ['days', 'current_city', 'transportation', 'breakfast', 'attraction', 'lunch', 'dinner', 'accommodation']. Use a ';' to separate different attractions, with each attraction formatted as 'Name, City'. If there's information about transportation, ensure that the 'current_city' aligns with the destination mentioned in the transportation details (i.e., the current city should follow the format 'from A to B'). Also, ensure that all flight numbers are followed by a colon (i.e., 'Flight Number:'), consistent with the provided example.

***** Example *****
Query: Could you create a travel plan from Dallas to Peoria spanning 3 days?
Travel Plan:
\`\`\`json
[{
    "days": 1,
    "current_city": "from Dallas to Peoria",
    "transportation": "Flight Number: 4044830, from Dallas to Peoria, Departure Time: 13:10, Arrival Time: 15:01",
    "breakfast": "-",
    "attraction": "Peoria Historical Society, Peoria;Peoria Holocaust Memorial, Peoria;",
    "lunch": "-",
    "dinner": "Tandoor Ka Zaika, Peoria",
    "accommodation": "Bushwick Music Mansion, Peoria"
},
{
    "days": 2,
    "current_city": "Peoria",
    "transportation": "-",
    "breakfast": "Tandoor Ka Zaika, Peoria",
    "attraction": "Peoria Riverfront Park, Peoria;The Peoria PlayHouse, Peoria;Glen Oak Park, Peoria;",
    "lunch": "Cafe Hashtag LoL, Peoria",
    "dinner": "The Curzon Room - Maidens Hotel, Peoria",
    "accommodation": "Bushwick Music Mansion, Peoria"
},
{
    "days": 3,
    "current_city": "from Peoria to Dallas",
    "transportation": "Flight Number: 4045904, from Peoria to Dallas, Departure Time: 07:09, Arrival Time: 09:20",
    "breakfast": "-",
    "attraction": "-",
    "lunch": "-",
    "dinner": "-",
    "accommodation": "-"
}]
\`\`\`
***** Example Ends *****`;
