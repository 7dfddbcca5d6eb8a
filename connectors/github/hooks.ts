import { createHmac, timingSafeEqual } from 'node:crypto';
import { forbidden, type Hint, type HookResult, type RawHook } from 'memoryd/connector';
import type { ContentKind } from './config.ts';
import { discussionIdOf, issueIdOf, partitionIdOf } from './place.ts';

interface Delivery {
  ref?: string;
  repository?: { id?: number; default_branch?: string };
  issue?: { number?: number };
  pull_request?: { number?: number };
  discussion?: { number?: number };
}

const branchPrefix = 'refs/heads/';

/**
 * Hints from a delivery. Only its repository, branch and numbers are used; their present state
 * is asked for.
 */
export function receive(raw: RawHook, secret: string): HookResult {
  const signature = Buffer.from(raw.headers['x-hub-signature-256'] ?? '');
  const computed = Buffer.from(`sha256=${createHmac('sha256', secret).update(raw.body).digest('hex')}`);
  if (signature.length !== computed.length || !timingSafeEqual(signature, computed)) {
    throw forbidden('The signature of the delivery is wrong.');
  }
  const deliveryId = raw.headers['x-github-delivery'];
  const hints = hintsOf(raw.headers['x-github-event'] ?? '', parse(raw));
  return { hints, ...(deliveryId === undefined ? {} : { deliveryId }) };
}

/** GitHub sends JSON, or the same in a field of a form. */
function parse(raw: RawHook): Delivery {
  const text = Buffer.from(raw.body).toString('utf8');
  const isForm = (raw.headers['content-type'] ?? '').includes('x-www-form-urlencoded');
  try {
    return (JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text) as Delivery | null) ?? {};
  } catch {
    return {};
  }
}

function hintsOf(event: string, { ref, repository, issue, pull_request: pull, discussion }: Delivery): Hint[] {
  if (!Number.isSafeInteger(repository?.id)) return [];
  const repositoryId = String(repository!.id);
  const files = (branch: string | undefined) => ({ partition: partitionIdOf({ repositoryId, kind: 'files', branch }) });
  if (event === 'push') {
    if (!ref?.startsWith(branchPrefix)) return [];
    const branch = ref.slice(branchPrefix.length);
    return branch === repository!.default_branch ? [files(branch), files(undefined)] : [files(branch)];
  }
  if (event === 'repository') return [files(undefined)];
  const whole = (kind: ContentKind) => partitionIdOf({ repositoryId, kind, branch: undefined });
  if (event === 'release') return [{ partition: whole('releases') }];
  // Pages of the wiki were written.
  if (event === 'gollum') return [{ partition: whole('wiki') }];
  if (Number.isSafeInteger(discussion?.number)) {
    return [{ partition: whole('discussions'), ids: [discussionIdOf(repositoryId, discussion!.number!)] }];
  }
  const number = issue?.number ?? pull?.number;
  if (!Number.isSafeInteger(number)) return [];
  return [{ partition: whole('issues'), ids: [issueIdOf(repositoryId, number!)] }];
}
