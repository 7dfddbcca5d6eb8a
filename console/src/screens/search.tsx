import { useEffect, useRef, useState } from 'preact/hooks';
import { baseAddress, call } from '../api.ts';
import { searchAsCode, searchAsCurl } from '../client-code.ts';
import { endOfDay, startOfDay } from '../format.ts';
import { excerptOf } from '../mark-words.ts';
import { copyText } from '../message.ts';
import { Ago, Button, Empty, Head, LoadProblem, Loading } from '../parts/controls.tsx';
import { ChoiceField, TextField } from '../parts/field.tsx';
import { MarkedText } from '../parts/marked-text.tsx';
import { NamespaceChoice, useNamespaces } from '../parts/namespace-choice.tsx';
import { ScoresNote, WhyNot } from '../parts/why-not.tsx';
import { hrefOf } from '../address.ts';
import { replaceRoute, route } from '../route.ts';
import { safeLink } from '../safe-link.ts';
import { texts } from '../texts.ts';
import type { SearchAnswer, SearchBody, SearchHit } from '../types.ts';
import { useLoad } from '../use-load.ts';

type Mode = 'hybrid' | 'documents' | 'memories';

/** What the address asks for, so that a search can be kept and gone back to. */
function askedFor() {
  const { query } = route.value;
  const mode = query.get('mode') as Mode | null;
  return {
    q: query.get('q') ?? '',
    mode: mode !== null && Object.hasOwn(texts.search.modes, mode) ? mode : 'hybrid',
    ns: query.get('ns') ?? '',
    path: query.get('path') ?? '',
    from: query.get('from') ?? '',
    to: query.get('to') ?? '',
    asOf: query.get('asOf') ?? '',
  };
}

const mostResults = 20;

type Asked = ReturnType<typeof askedFor>;

function bodyOf({ q, mode, ns, path, from, to, asOf }: Asked): SearchBody {
  return {
    q,
    searchMode: mode,
    limit: mostResults,
    ...(ns !== '' && { containerTag: ns }),
    ...(path !== '' && { filepath: path }),
    ...((from !== '' || to !== '') && {
      dates: { ...(from !== '' && { from: startOfDay(from) }), ...(to !== '' && { to: endOfDay(to) }) },
    }),
    ...(asOf !== '' && { asOf: endOfDay(asOf) }),
  };
}

export function Search() {
  const asked = askedFor();
  const [typed, setTyped] = useState(asked.q);
  const input = useRef<HTMLInputElement>(null);
  const readNamespaces = useNamespaces();
  const namespaces = readNamespaces.data ?? [];
  const { data, error, isLoading, reload } = useLoad<SearchAnswer | undefined>(
    async (signal) =>
      asked.q === ''
        ? undefined
        : call('POST /v4/search', { body: { ...bodyOf(asked), include: { scores: true } }, signal }),
    [asked],
  );
  const ask = (changed: Partial<Asked>) => replaceRoute(['search'], { ...asked, ...changed });
  useEffect(() => input.current?.focus(), []);
  // Another address may ask something else, as the way back does.
  useEffect(() => setTyped(asked.q), [asked.q]);
  return (
    <>
      <Head title={texts.search.title} />
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          ask({ q: typed.trim() });
        }}
      >
        <div class="search-box">
          <input
            ref={input}
            type="search"
            aria-label={texts.search.query}
            placeholder={texts.search.placeholder}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <Button submit look="main">
            {texts.search.submit}
          </Button>
        </div>
        <div class="filters thirds">
          <ChoiceField
            label={texts.search.mode}
            value={asked.mode}
            options={Object.entries(texts.search.modes) as [Mode, string][]}
            onChange={(mode) => ask({ mode })}
          />
          <NamespaceChoice value={asked.ns} withAll namespaces={namespaces} onChange={(ns) => ask({ ns })} />
          <TextField label={texts.search.path} value={asked.path} onInput={(path) => ask({ path })} />
          <TextField label={texts.search.from} type="date" value={asked.from} onInput={(from) => ask({ from })} />
          <TextField label={texts.search.to} type="date" value={asked.to} onInput={(to) => ask({ to })} />
          <TextField label={texts.search.asOf} type="date" value={asked.asOf} onInput={(asOf) => ask({ asOf })} />
        </div>
      </form>
      <LoadProblem error={error} reload={reload} />
      {asked.q === '' ? (
        <p class="quiet">{texts.search.teach}</p>
      ) : (
        <Results answer={data} isLoading={isLoading && !error} asked={asked} />
      )}
    </>
  );
}

interface ResultsProps {
  answer: SearchAnswer | undefined;
  isLoading: boolean;
  asked: Asked;
}

function Results({ answer, isLoading, asked }: ResultsProps) {
  if (!answer) return isLoading ? <Loading /> : null;
  return (
    <>
      <div class="section-head">
        <span class="quiet small" role="status">
          {texts.search.found(answer.results.length, answer.timing)}
        </span>
        <span class="row">
          <Button look="plain" onClick={() => void copyText(searchAsCurl(baseAddress, bodyOf(asked)))}>
            {texts.search.curl}
          </Button>
          <Button look="plain" onClick={() => void copyText(searchAsCode(baseAddress, bodyOf(asked)))}>
            {texts.search.client}
          </Button>
        </span>
      </div>
      {answer.results.length === 0 && <Empty title={texts.search.none} text={texts.search.noneHelp} />}
      <ol class="rows" aria-label={texts.search.title}>
        {answer.results.map((hit) => (
          <Hit key={hit.id} hit={hit} query={asked.q} />
        ))}
      </ol>
      <WhyNot body={bodyOf(asked)} />
    </>
  );
}

const excerptCharacters = 420;

function Hit({ hit, query }: { hit: SearchHit; query: string }) {
  const source = hit.sources[0];
  const text = hit.memory ?? hit.chunk ?? '';
  const title = source?.title ?? source?.filepath ?? hit.filepath ?? source?.url ?? texts.search.untold;
  const link = safeLink(source?.url);
  return (
    <li class="hit">
      <div class="hit-head">
        <h2 class="cut">
          {source ? (
            <a href={hrefOf(['documents', source.documentId], { q: query })}>
              <bdi>{title}</bdi>
            </a>
          ) : (
            <bdi>{title}</bdi>
          )}
        </h2>
        <span class="quiet small">
          {texts.search.score(Math.round(hit.similarity * 100))}
          <ScoresNote scores={hit.scores} />
        </span>
      </div>
      <p class="excerpt">
        <MarkedText text={excerptOf(text, query, excerptCharacters)} query={query} />
      </p>
      <p class="quiet small wrap">
        <span class="tag">{texts.search.kinds[hit.kind]}</span> {texts.search.trust[hit.trust]}
        {hit.author && <bdi> · {hit.author}</bdi>}
        {source?.filepath && source.filepath !== title && <bdi> · {source.filepath}</bdi>}
        {' · '}
        <Ago at={source?.date ?? hit.updatedAt} /> · <bdi>{hit.containerTag}</bdi>
        {link && (
          <>
            {' · '}
            <a href={link} target="_blank" rel="noreferrer">
              {texts.search.original}
            </a>
          </>
        )}
      </p>
    </li>
  );
}
