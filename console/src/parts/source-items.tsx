import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { formatBytes } from '../format.ts';
import { say } from '../message.ts';
import { hrefOf } from '../address.ts';
import { mayWrite } from '../session.ts';
import { texts } from '../texts.ts';
import type { Tone } from '../tone.ts';
import type { Item, ItemState } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useDelayed } from '../use-delayed.ts';
import { usePages } from '../use-pages.ts';
import { Ago, Badge, Button, LoadProblem, Notice, Section } from './controls.tsx';
import { ChoiceField, TextField } from './field.tsx';
import { WindowedList } from './windowed-list.tsx';

interface SourceItemsProps {
  connectionId: string;
  state: ItemState | '';
  onState: (state: ItemState | '') => void;
  counts: string | undefined;
  onChange: () => void;
}

/** Everything that the source holds, with what became of it. */
export function SourceItems({ connectionId, state, onState, counts, onChange }: SourceItemsProps) {
  const [typed, setTyped] = useState('');
  const name = useDelayed(typed.trim());
  const pages = usePages(
    (cursor, signal) => {
      const query = {
        limit: 100,
        ...(cursor && { cursor }),
        ...(state && { state: [state] }),
        ...(name && { q: name }),
      };
      return call('GET /v3/connections/{connectionId}/items', { path: { connectionId }, query, signal });
    },
    [connectionId, state, name, counts],
  );
  const retry = useAction(async (item: Item) => {
    await call('POST /v3/connections/{connectionId}/items/{itemId}/retry', { path: { connectionId, itemId: item.id } });
    say(texts.source.retried(1));
    pages.reload();
    onChange();
  });
  const isEmpty = !pages.isLoading && pages.rows.length === 0 && !pages.error;
  return (
    <Section title={texts.source.items} note={texts.source.itemsHelp}>
      <div class="filters">
        <TextField label={texts.source.itemName} type="search" value={typed} onInput={setTyped} />
        <ChoiceField
          label={texts.source.itemState}
          value={state}
          options={[['', texts.source.anyState], ...(Object.entries(texts.source.states) as [ItemState, string][])]}
          onChange={onState}
        />
      </div>
      <LoadProblem error={pages.error} reload={pages.reload} />
      {retry.error && <Notice tone="bad">{retry.error}</Notice>}
      {isEmpty && (
        <p class="quiet" role="status">
          {name === '' ? texts.source.noItems : texts.source.notInList}
        </p>
      )}
      <WindowedList
        label={texts.source.items}
        rows={pages.rows}
        keyOf={(item) => item.id}
        render={(item) => <ItemLine item={item} onRetry={() => retry.run(item)} />}
        onNearEnd={pages.readMore}
      />
    </Section>
  );
}

const tones: Readonly<Record<Item['state'], Tone>> = {
  pending: 'busy',
  held: 'warn',
  fetching: 'busy',
  done: 'good',
  failed: 'bad',
  dead: 'bad',
  skipped: 'quiet',
  suppressed: 'quiet',
  gone: 'quiet',
};
const retriable = new Set<Item['state']>(['failed', 'dead', 'skipped']);

/** The path tells files of one name apart; the place of a mail is its mailbox, and says nothing of the mail. */
function nameOf({ id, path, title }: Item): string {
  return title !== null && path?.endsWith(title) !== true ? title : (path ?? id);
}

interface ItemLineProps {
  item: Item;
  /** Whether its document is still there though the item is gone. */
  isHeld?: boolean;
  onRetry?: () => void;
}

/** Two lines of one height: the list of them draws only what is in sight. */
export function ItemLine({ item, isHeld = false, onRetry }: ItemLineProps) {
  const name = nameOf(item);
  const place = item.path === name ? null : item.path;
  const about = item.error ?? (item.size === null ? null : formatBytes(item.size));
  const reason = [place, about].filter((part) => part !== null).join(' · ');
  return (
    <div class="line">
      <span class="grow">
        {item.documentId && (isHeld || item.state !== 'gone') ? (
          <a class="title" href={hrefOf(['documents', item.documentId])} title={name}>
            <bdi>{name}</bdi>
          </a>
        ) : (
          <span class="title" title={name}>
            <bdi>{name}</bdi>
          </span>
        )}
        <span class="quiet small cut sub" title={reason}>
          <bdi>{reason}</bdi>
          {item.nextRetryAt && (
            <>
              {' · '}
              {texts.source.tryAgainAt('')}
              <Ago at={item.nextRetryAt} />
            </>
          )}
        </span>
      </span>
      <Badge tone={tones[item.state]}>{texts.source.states[item.state]}</Badge>
      {onRetry && mayWrite.value && retriable.has(item.state) && (
        <Button look="plain" label={texts.source.retryAll(name)} onClick={onRetry}>
          {texts.source.retry}
        </Button>
      )}
    </div>
  );
}
