import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { texts } from '../texts.ts';
import type { ForgetAnswer } from '../types.ts';
import { useAction } from '../use-action.ts';
import { Confirm } from './dialog.tsx';
import { TextField } from './field.tsx';

interface ForgetByTopicProps {
  namespace: string;
  onClose: () => void;
  onChange: () => void;
}

/** A dry run first; then just those that it showed. */
export function ForgetByTopic({ namespace, onClose, onChange }: ForgetByTopicProps) {
  const [topic, setTopic] = useState('');
  const [seen, setSeen] = useState<ForgetAnswer>();
  const candidates = seen?.candidates ?? [];
  const path = '/v4/memories/forget-matching';
  const action = useAction(async () => {
    if (candidates.length === 0) {
      const body = { containerTag: namespace, query: topic.trim(), dryRun: true };
      setSeen(await call<ForgetAnswer>('POST', path, { body }));
      return;
    }
    const body = { containerTag: namespace, ids: candidates.map(({ id }) => id), dryRun: false };
    const { count } = await call<ForgetAnswer>('POST', path, { body });
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
        {isSure && <p>{texts.memories.dryCount(candidates.length)}</p>}
      </div>
      <ul class="rows">
        {candidates.map(({ id, memory }) => (
          <li key={id} class="line">
            <bdi class="wrap">{memory}</bdi>
          </li>
        ))}
      </ul>
    </Confirm>
  );
}
