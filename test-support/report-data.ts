import type { ReportData } from '../src/report/write-report.ts';

/** What the page of a run's report holds, which its script shows. */
export const reportData = (page: string): ReportData =>
  JSON.parse(/id="report-data">(.*?)<\/script>/s.exec(page)?.[1] ?? 'null') as ReportData;
