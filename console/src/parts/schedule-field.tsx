import { call } from '../api.ts';
import { formatAgo, formatMoment } from '../format.ts';
import { isOwnSchedule, presetsFor, standard } from '../schedules.ts';
import { texts } from '../texts.ts';
import { useDelayed } from '../use-delayed.ts';
import { useLoad } from '../use-load.ts';
import { ChoiceField, TextField } from './field.tsx';

interface ScheduleFieldProps {
  /** As the API takes it; `standard` leaves the source its own. */
  value: string;
  onChange: (value: string) => void;
  /** Whether the source is to be connected, and may be left its own. */
  isNew?: boolean;
  /** That of the source itself, as the API takes it; undefined where it has none. */
  own?: string | undefined;
}

/** How often a source is looked at, with the times that follow from it. */
export function ScheduleField({ value, onChange, isNew = false, own }: ScheduleFieldProps) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const presets = presetsFor(zone);
  const isOwn = isOwnSchedule(value, presets);
  const options = Object.entries(presets).filter(([each]) => isNew || each !== standard);
  const times = (schedule: string) => (
    <NextTimes schedule={schedule === standard ? (own ?? standard) : schedule} isNew={isNew} />
  );
  return (
    <>
      <ChoiceField
        label={texts.schedule.label}
        value={isOwn ? 'own' : value}
        options={[...options, ['own', texts.schedule.own]]}
        onChange={(chosen) => onChange(chosen === 'own' ? ' ' : chosen)}
        help={isOwn ? undefined : times(value)}
      />
      {isOwn && (
        <TextField
          label={texts.schedule.ownLabel}
          value={value.trim()}
          onInput={(typed) => onChange(` ${typed}`)}
          help={
            <>
              {texts.schedule.ownHelp} {times(value.trim())}
            </>
          }
        />
      )}
    </>
  );
}

function NextTimes({ schedule, isNew }: { schedule: string; isNew: boolean }) {
  const asked = useDelayed(schedule);
  const { data, error } = useLoad(
    async (signal) => {
      if (asked === '' || asked === 'manual') return undefined;
      const query = asked === standard ? {} : { schedule: asked };
      return { asked, ...(await call('GET /v3/schedule-times', { query, signal })) };
    },
    [asked],
  );
  if (schedule === 'manual') return <>{texts.schedule.manualHelp}</>;
  if (schedule === '' || asked !== schedule) return null;
  if (error && data?.asked !== asked) return <span role="status">{error}</span>;
  if (data?.asked !== asked) return null;
  const [first, ...others] = data.next.slice(0, 3);
  if (first === undefined) return null;
  const times = [`${formatMoment(first)} (${formatAgo(first, new Date())})`, ...others.map(formatMoment)];
  return <span role="status">{isNew ? texts.schedule.afterFirst(times) : texts.schedule.next(times)}</span>;
}
