import { useState } from 'preact/hooks';
import { hrefOf } from '../address.ts';
import { ApiError, call } from '../api.ts';
import { texts } from '../texts.ts';
import type { DocumentRow, Explanation, Scores, SearchBody } from '../types.ts';
import { useDelayed } from '../use-delayed.ts';
import { useLoad } from '../use-load.ts';
import { LoadProblem, Notice, Section } from './controls.tsx';
import { TextField } from './field.tsx';

/** From which similarity on the API answers a result, unless it is told otherwise. */
const threshold = 0.6;
const mostOffered = 6;

const percent = (share: number) => Math.round(share * 100);

/** What words and vectors say of a text, apart. */
export function ScoresNote({ scores }: { scores: Scores | null | undefined }) {
  if (!scores) return null;
  const { wordsScore, vectorsScore } = texts.search;
  const vectors = scores.vectors === null ? null : percent(scores.vectors);
  return <>{` · ${wordsScore(percent(scores.words))} · ${vectorsScore(vectors)}`}</>;
}

/** Somebody names a document, and learns where it stands for the search that is shown. */
export function WhyNot({ body }: { body: SearchBody }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<string>();
  const named = useDelayed(typed.trim());
  const offered = useLoad(async (signal) => (named === '' ? undefined : offeredFor(named, signal)), [named]);
  return (
    <Section title={texts.search.whyNot}>
      <TextField
        label={texts.search.whyNotField}
        help={texts.search.whyNotHelp}
        value={typed}
        onInput={(value) => {
          setTyped(value);
          setChosen(undefined);
        }}
      />
      <LoadProblem error={offered.error} reload={offered.reload} />
      {chosen !== undefined && <Standing documentId={chosen} body={body} />}
      {chosen === undefined && named !== '' && offered.data && (
        <Offered documents={offered.data} choose={(id) => setChosen(id)} />
      )}
    </Section>
  );
}

type OfferedRow = Pick<DocumentRow, 'id' | 'title' | 'filepath'>;

/** By a part of its title or path or, where nothing has it, by its id. */
async function offeredFor(named: string, signal: AbortSignal): Promise<OfferedRow[]> {
  const body = { q: named, limit: mostOffered };
  const { memories } = await call('POST /v3/documents/list', { body, signal });
  if (memories.length > 0) return memories;
  try {
    return [await call('GET /v3/documents/{id}', { path: { id: named }, signal })];
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

function Offered({ documents, choose }: { documents: readonly OfferedRow[]; choose: (id: string) => void }) {
  if (documents.length === 0) {
    return (
      <p class="quiet" role="status">
        {texts.search.noDocument} <a href={hrefOf(['sources'])}>{texts.search.goSources}</a>
      </p>
    );
  }
  return (
    <ul class="rows" aria-label={texts.search.whyNotPick}>
      {documents.map(({ id, title, filepath }) => (
        <li key={id}>
          <button type="button" class="line" onClick={() => choose(id)}>
            <bdi class="grow cut">{title ?? filepath ?? texts.untitled}</bdi>
            {filepath !== null && filepath !== title && <bdi class="quiet small cut">{filepath}</bdi>}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Standing({ documentId, body }: { documentId: string; body: SearchBody }) {
  const asked = { ...body, explain: { documentId } };
  const { data, error, reload } = useLoad((signal) => call('POST /v4/search', { body: asked, signal }), [asked]);
  const explanation = data?.explanation;
  return (
    <div role="status">
      <LoadProblem error={error} reload={reload} />
      {explanation && (
        <Notice>
          <a href={hrefOf(['documents', documentId], { q: body.q })}>
            <bdi>{explanation.title ?? texts.untitled}</bdi>
          </a>
          <span class="quiet small">
            <ScoresNote scores={explanation.scores} />
          </span>
          <p>{sentenceOf(explanation, body.limit)}</p>
          {explanation.leftOutBy.length > 0 && (
            <ul>
              {explanation.leftOutBy.map((each) => (
                <li key={each}>{texts.search.leftOutBy[each]}</li>
              ))}
            </ul>
          )}
        </Notice>
      )}
    </div>
  );
}

function sentenceOf({ outcome, rank, ranked, similarity, status }: Explanation, limit: number): string {
  const { outcomes } = texts.search;
  switch (outcome) {
    case 'shown':
      return outcomes.shown(rank ?? 1);
    case 'below_limit':
      return rank === null ? outcomes.farBehind(ranked) : outcomes.behind(rank, limit);
    case 'below_threshold': {
      const place = rank === null ? '' : outcomes.weakPlace(rank, ranked);
      return outcomes.weak(percent(similarity ?? 0), percent(threshold)) + place;
    }
    case 'said_by_another':
      return outcomes.said;
    case 'left_out':
      return outcomes.leftOut;
    case 'not_indexed':
      if (status === 'failed') return outcomes.failed;
      return status === 'done' ? outcomes.noText : outcomes.waiting;
    case 'not_found':
      return outcomes.unknown;
  }
}
