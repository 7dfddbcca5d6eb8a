import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { texts } from '../texts.ts';

interface FieldProps {
  label: string;
  help?: ComponentChildren;
  problem?: string | undefined;
  isRequired?: boolean;
  children: (ids: FieldIds) => ComponentChildren;
}

/** What ties a control to its label, its help and what is wrong with it. */
export interface FieldIds {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': boolean;
}

export function Field({ label, help, problem, isRequired = false, children }: FieldProps) {
  const id = useId();
  const described = [help && `${id}-help`, problem && `${id}-problem`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>
        {label} {isRequired && <span class="need">({texts.required})</span>}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': Boolean(problem) })}
      {help && (
        <div class="help" id={`${id}-help`}>
          {help}
        </div>
      )}
      {problem && (
        <div class="problem" id={`${id}-problem`}>
          {problem}
        </div>
      )}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  help?: ComponentChildren;
  problem?: string | undefined;
  isRequired?: boolean;
  type?: 'text' | 'password' | 'search' | 'date' | 'url';
  lines?: number;
  placeholder?: string;
}

export function TextField({ label, value, onInput, type = 'text', lines, placeholder, ...rest }: TextFieldProps) {
  return (
    <Field label={label} {...rest}>
      {(ids) =>
        lines === undefined ? (
          <input
            {...ids}
            {...({ type } as { type: 'text' })}
            value={value}
            placeholder={placeholder}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        ) : (
          <textarea {...ids} rows={lines} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
        )
      }
    </Field>
  );
}

interface ChoiceFieldProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly (readonly [value: Value, text: string])[];
  onChange: (value: Value) => void;
  help?: ComponentChildren;
}

export function ChoiceField<Value extends string>({ label, value, options, onChange, help }: ChoiceFieldProps<Value>) {
  return (
    <Field label={label} help={help}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
          {options.map(([each, text]) => (
            <option key={each} value={each} selected={each === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckFieldProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  help?: ComponentChildren;
  /** Of a group of which one is chosen. */
  group?: string;
}

export function CheckField({ label, isOn, onChange, help, group }: CheckFieldProps) {
  const id = useId();
  return (
    <div class="field check">
      <input
        id={id}
        type={group === undefined ? 'checkbox' : 'radio'}
        name={group}
        checked={isOn}
        aria-describedby={help ? `${id}-help` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>
        <bdi>{label}</bdi>
      </label>
      {help && (
        <div class="help" id={`${id}-help`}>
          {help}
        </div>
      )}
    </div>
  );
}
