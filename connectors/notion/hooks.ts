import { verifyWebhookSignature } from '@notionhq/client';
import { forbidden, type Hint, type HookResult, type RawHook } from 'memoryd/connector';
import { partitionId } from './partition.ts';

interface Delivery {
  id?: string;
  type?: string;
  verification_token?: string;
  entity?: { id?: string; type?: string };
  data?: { page_id?: string; parent?: { id?: string; type?: string } };
}

/**
 * Hints from a delivery: only ids are used, and their present state is asked for. The secret is the token
 * that Notion sends once, before everything else. https://developers.notion.com/reference/webhooks
 */
export async function receive(raw: RawHook, secret: string): Promise<HookResult> {
  const delivery = parse(raw.body);
  if (delivery.verification_token !== undefined) return handshake(delivery.verification_token, secret);
  const isRight = await verifyWebhookSignature({
    body: raw.body,
    signature: raw.headers['x-notion-signature'] ?? null,
    verificationToken: secret,
  });
  if (!isRight) throw forbidden('The signature of the delivery is wrong.');
  return { hints: [hintOf(delivery)], ...(delivery.id === undefined ? {} : { deliveryId: delivery.id }) };
}

/** The token of the handshake, which Notion makes by itself and signs with from then on. */
export const offered = (raw: RawHook): string | undefined => parse(raw.body).verification_token;

/** The handshake is not signed. It is answered for the token that the operator has set, so that no other one is taken. */
function handshake(token: string, secret: string): HookResult {
  if (token !== secret) throw forbidden('The verification token is another one than the secret of the hooks.');
  return { respond: { status: 200 } };
}

function parse(body: Uint8Array): Delivery {
  try {
    return (JSON.parse(Buffer.from(body).toString('utf8')) as Delivery | null) ?? {};
  } catch {
    return {};
  }
}

/** Pages are looked up; for anything else the changes are read. */
function hintOf({ entity, data }: Delivery): Hint {
  const partition = partitionId;
  if (entity?.type === 'page' && entity.id) return { partition, ids: [entity.id] };
  if (entity?.type === 'comment' && data?.page_id) return { partition, ids: [data.page_id] };
  return { partition };
}
