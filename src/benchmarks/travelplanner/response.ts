/** What of an attempt is judged, and what else tells how it went. JSON. */
export interface PlanResponse {
  /** The text that should hold the plan; empty where it did not come to one. */
  answer: string;
  /** Steps of tool use, the call of the planner included; 0 in sole planning. */
  steps: number;
  /** Why it ended: the last answer's finish reason, or what made the agent give up. */
  end: string;
}
