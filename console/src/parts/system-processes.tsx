import { call } from '../api.ts';
import { texts } from '../texts.ts';
import type { RunningProcess } from '../types.ts';
import { useLoad } from '../use-load.ts';
import { Ago, Badge, LoadProblem, Section } from './controls.tsx';

const everyMs = 5_000;
const roles = ['api', 'worker', 'scheduler'] as const;

/** Which roles somebody has at the moment, and who. */
export function SystemProcesses() {
  const { data, error, reload } = useLoad((signal) => call('GET /v3/system/processes', { signal }), [], everyMs);
  return (
    <Section title={texts.system.processes}>
      <LoadProblem error={error} reload={reload} />
      {data && <Roles processes={data.processes} />}
      <ul class="rows" aria-label={texts.system.processes}>
        {data?.processes.map((process) => (
          <ProcessLine key={`${process.host} ${process.pid} ${process.startedAt}`} process={process} />
        ))}
      </ul>
    </Section>
  );
}

function Roles({ processes }: { processes: readonly RunningProcess[] }) {
  return (
    <dl class="facts">
      {roles.map((role) => {
        const having = processes.filter((each) => each.isAlive && (each.role === role || each.role === 'all'));
        return [
          <dt key={role}>{texts.system.roles[role]}</dt>,
          <dd key={`${role} processes`}>
            <Badge tone={having.length > 0 ? 'good' : 'bad'}>
              {having.length > 0 ? texts.system.alive(having.length) : texts.system.noneAlive}
            </Badge>
          </dd>,
        ];
      })}
    </dl>
  );
}

function ProcessLine({ process }: { process: RunningProcess }) {
  const { role, host, pid, version, isAlive, isThis, startedAt, seenAt } = process;
  return (
    <li class="line wide">
      <span class="grow wrap">
        <bdi>{texts.system.process(host, pid)}</bdi>{' '}
        <span class="quiet small">
          {texts.system.roleNames[role]}, {version}
          {isThis && `, ${texts.system.isThis}`}
        </span>
      </span>
      {!isAlive && <Badge tone="warn">{texts.system.lost}</Badge>}
      <span class="quiet small">
        {isAlive ? texts.system.up : texts.system.seen} <Ago at={isAlive ? startedAt : seenAt} />
      </span>
    </li>
  );
}
