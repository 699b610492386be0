/** Task queues: workflows, and activities by what they wait for. A worker may serve any of them. */
export const queues = {
  workflows: 'genenv',
  llm: 'genenv-llm',
  cpu: 'genenv-cpu',
  gpu: 'genenv-gpu',
} as const;
