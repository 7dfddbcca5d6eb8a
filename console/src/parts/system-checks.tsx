import { call } from '../api.ts';
import { texts } from '../texts.ts';
import type { Warnings } from '../types.ts';
import { useLoad } from '../use-load.ts';
import { Ago, Badge, Button, LoadProblem, Section } from './controls.tsx';

/** What `memoryd doctor` would say of the daemon, with what to do. */
export function SystemChecks() {
  const { data, error, isLoading, reload } = useLoad((signal) => call('GET /v3/system/checks', { signal }), []);
  return (
    <Section title={texts.system.checks} note={data && <Button onClick={reload}>{texts.system.checkAgain}</Button>}>
      <LoadProblem error={error} reload={reload} />
      {isLoading && !data && <p role="status">{texts.system.checking}</p>}
      <ul class="rows" aria-label={texts.system.checks}>
        {data?.checks.map(({ name, ok, detail, remedy }) => (
          <li key={name} class="line wide log">
            <Badge tone={ok ? 'good' : 'bad'}>{ok ? texts.system.inOrder : texts.system.notInOrder}</Badge>
            <span class="grow wrap">
              {texts.system.checkNames[name] ?? name}
              <bdi class="quiet small sub">{detail}</bdi>
              {remedy && <bdi class="small sub">{remedy}</bdi>}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const everyMs = 10_000;

/** The last warnings and errors of the log. */
export function SystemWarnings() {
  const { data, error, reload } = useLoad((signal) => call('GET /v3/system/warnings', { signal }), [], everyMs);
  return (
    <Section title={texts.system.warnings} note={texts.system.warningsHelp}>
      <LoadProblem error={error} reload={reload} />
      {data?.warnings.length === 0 && <p class="line quiet">{texts.system.noWarnings}</p>}
      <ul class="rows">
        {data?.warnings.map(({ level, message, count, lastAt, fields }) => (
          <li key={`${level} ${message} ${JSON.stringify(fields)}`} class="line wide">
            <Badge tone={level === 'error' ? 'bad' : 'warn'}>{texts.system.levels[level]}</Badge>
            <span class="grow wrap">
              <bdi>{message}</bdi> <bdi class="quiet small">{fieldsText(fields)}</bdi>
            </span>
            <span class="quiet small">
              {count > 1 && `${texts.system.times(count)} · `}
              <Ago at={lastAt} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function fieldsText(fields: Warnings['warnings'][number]['fields']): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
