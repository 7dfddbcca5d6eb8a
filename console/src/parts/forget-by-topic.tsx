import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { texts } from '../texts.ts';
import type { ForgetAnswer } from '../types.ts';
import { useAction } from '../use-action.ts';
import { Confirm } from './dialog.tsx';
import { CheckField, TextField } from './field.tsx';

interface ForgetByTopicProps {
  namespace: string;
  onClose: () => void;
  onChange: () => void;
}

/** A dry run first; then just those of what it showed that nobody took out. */
export function ForgetByTopic({ namespace, onClose, onChange }: ForgetByTopicProps) {
  const [topic, setTopic] = useState('');
  const [seen, setSeen] = useState<ForgetAnswer>();
  const [spared, setSpared] = useState<ReadonlySet<string>>(new Set());
  const candidates = seen?.candidates ?? [];
  const chosen = candidates.filter(({ id }) => !spared.has(id));
  const action = useAction(async () => {
    if (candidates.length === 0) {
      const body = { containerTag: namespace, query: topic.trim(), dryRun: true };
      setSeen(await call('POST /v4/memories/forget-matching', { body }));
      setSpared(new Set());
      return;
    }
    if (chosen.length === 0) throw new Error(texts.memories.dryAllSpared);
    const body = { containerTag: namespace, ids: chosen.map(({ id }) => id), dryRun: false };
    const { count } = await call('POST /v4/memories/forget-matching', { body });
    say(texts.memories.forgotMany(count));
    onClose();
    onChange();
  });
  const isSure = candidates.length > 0;
  return (
    <Confirm
      title={texts.memories.forgetAbout}
      action={action}
      confirm={isSure ? texts.memories.forgetThese : texts.memories.dryRun}
      isDangerous={isSure}
      onClose={onClose}
    >
      <TextField
        label={texts.memories.topic}
        value={topic}
        help={texts.memories.topicHelp}
        onInput={(text) => {
          setTopic(text);
          setSeen(undefined);
        }}
      />
      <div role="status">
        {seen && !isSure && <p>{texts.memories.dryNone}</p>}
        {isSure && <p>{texts.memories.dryCount(chosen.length)}</p>}
      </div>
      <ul class="rows">
        {candidates.map(({ id, memory }) => (
          <li key={id} class="line">
            <CheckField
              label={memory}
              isOn={!spared.has(id)}
              onChange={(isOn) => setSpared(withOrWithout(spared, id, !isOn))}
            />
          </li>
        ))}
      </ul>
    </Confirm>
  );
}

function withOrWithout(set: ReadonlySet<string>, member: string, isIn: boolean): ReadonlySet<string> {
  const changed = new Set(set);
  if (isIn) changed.add(member);
  else changed.delete(member);
  return changed;
}
