import type { PageRemark } from './page.ts';
import type { Run } from './run.ts';

/** Reports on the run what was odd about a page. */
export function remark(run: Run, partitionId: string, remarks: readonly PageRemark[]): void {
  for (const { code, message } of remarks) run.report.warn(partitionId, code, message);
}
