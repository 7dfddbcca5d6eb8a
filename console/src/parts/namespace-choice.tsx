import { call } from '../api.ts';
import { texts } from '../texts.ts';
import type { Namespace } from '../types.ts';
import { useLoad } from '../use-load.ts';
import { ChoiceField } from './field.tsx';

/** What is written goes here unless somebody says otherwise; the daemon's own default. */
export const defaultNamespace = 'sm_project_default';

export function useNamespaces() {
  return useLoad((signal) => call('GET /v3/container-tags/list', { signal }), []);
}

interface NamespaceChoiceProps {
  label?: string;
  value: string;
  onChange: (value: string) => void;
  /** Whether all of them together can be chosen. */
  withAll?: boolean;
  namespaces: readonly Namespace[];
}

export function NamespaceChoice({ label, value, onChange, withAll = false, namespaces }: NamespaceChoiceProps) {
  const tags = namespaces.map((each) => each.containerTag);
  const options = [...new Set([...(value === '' ? [] : [value]), ...tags])].map((tag) => [tag, tag] as const);
  return (
    <ChoiceField
      label={label ?? texts.namespace}
      value={value}
      onChange={onChange}
      options={withAll ? [['', texts.everyNamespace] as const, ...options] : options}
    />
  );
}
