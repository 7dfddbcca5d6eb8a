import { call } from '../api.ts';
import { formatBytes, formatMoment } from '../format.ts';
import { say } from '../message.ts';
import { mayManage } from '../session.ts';
import { texts } from '../texts.ts';
import type { Backup, Status } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { Ago, Button, LoadProblem, Notice, Section } from './controls.tsx';

/** The copies of the database that the daemon made, when the next is due, and one more on demand. */
export function SystemBackups({ schedule }: { schedule: Status['backups'] }) {
  const { data, error, reload } = useLoad((signal) => call('GET /v3/system/backups', { signal }), [schedule?.lastAt]);
  const make = useAction(async () => {
    await call('POST /v3/system/backups', { body: {} });
    say(texts.system.backedUp);
    reload();
  });
  return (
    <Section
      title={texts.system.backups}
      note={
        data?.offered &&
        mayManage.value && (
          <Button isBusy={make.isBusy} onClick={() => make.run()}>
            {make.isBusy ? texts.system.backingUp : texts.system.backUp}
          </Button>
        )
      }
    >
      <LoadProblem error={error} reload={reload} />
      {make.error && <Notice tone="bad">{make.error}</Notice>}
      {data && <p class="line quiet">{data.offered ? texts.system.backupsHelp : texts.system.backupsElsewhere}</p>}
      {data?.offered && data.backups.length === 0 && <p class="line quiet">{texts.system.noBackups}</p>}
      {data?.offered && <ScheduleLine schedule={schedule} />}
      <ul class="rows" aria-label={texts.system.backups}>
        {data?.backups.map((backup) => (
          <BackupLine key={backup.name} {...backup} />
        ))}
      </ul>
    </Section>
  );
}

function ScheduleLine({ schedule }: { schedule: Status['backups'] }) {
  if (schedule === null) {
    return (
      <p class="line quiet">
        <span>
          {texts.system.noBackupSchedule} <code>MEMORYD_BACKUP_SCHEDULE=&quot;0 3 * * *&quot;</code>
        </span>
      </p>
    );
  }
  const { failure, isOverdue, lastAt, nextAt, keep } = schedule;
  return (
    <>
      {failure && <Notice tone="bad">{texts.system.backupFailed(formatMoment(failure.at), failure.reason)}</Notice>}
      {!failure && isOverdue && <Notice tone="warn">{texts.home.backupOverdue}</Notice>}
      <dl class="facts">
        <dt>{texts.system.backupSchedule}</dt>
        <dd>
          <code>{schedule.schedule}</code>, {texts.system.backupsKept(keep)}
        </dd>
        <dt>{texts.system.lastBackup}</dt>
        <dd>{lastAt === null ? texts.system.noBackups : formatMoment(lastAt)}</dd>
        <dt>{texts.system.nextBackup}</dt>
        <dd>{formatMoment(nextAt)}</dd>
      </dl>
    </>
  );
}

function BackupLine({ at, path, bytes }: Backup) {
  return (
    <li class="line wide">
      <bdi class="grow wrap">
        <code>{path}</code>
      </bdi>
      <span class="quiet small">
        {formatBytes(bytes)} · <Ago at={at} />
      </span>
    </li>
  );
}
