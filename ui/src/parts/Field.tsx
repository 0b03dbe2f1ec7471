import { Check } from 'lucide-react';
import { clean } from '../i18n/format.ts';
import { useId, type ReactNode } from 'react';
import {
  Checkbox as AriaCheckbox,
  FieldError,
  Input,
  Label,
  Text,
  TextArea,
  TextField as AriaTextField,
  type CheckboxProps,
  type TextFieldProps,
} from 'react-aria-components';

interface FieldProps extends Omit<TextFieldProps, 'children'> {
  label: string;
  help?: string | undefined;
  /** What is wrong, if something is. */
  fault?: string | undefined;
  placeholder?: string;
}

/** A line of text with its label, help and error. */
export const TextField = ({ label, help, fault, placeholder, ...props }: FieldProps) => (
  <AriaTextField className="field" isInvalid={fault !== undefined} validationBehavior="aria" {...props}>
    <Label>{label}</Label>
    <Input className="input" {...(placeholder && { placeholder })} />
    {help && (
      <Text slot="description" className="help">
        {help}
      </Text>
    )}
    <FieldError className="fault">{fault}</FieldError>
  </AriaTextField>
);

/** Some lines of text, which grow with what is written. */
export const TextAreaField = ({
  label,
  help,
  fault,
  rows = 4,
  ...props
}: Omit<FieldProps, 'placeholder'> & { rows?: number }) => (
  <AriaTextField className="field" isInvalid={fault !== undefined} validationBehavior="aria" {...props}>
    <Label>{label}</Label>
    <TextArea className="input grows" rows={rows} dir="auto" />
    {help && (
      <Text slot="description" className="help">
        {help}
      </Text>
    )}
    <FieldError className="fault">{fault}</FieldError>
  </AriaTextField>
);

interface SelectProps<T extends string> {
  label: string;
  /** The label is for screen readers only, where the place says it already. */
  hideLabel?: boolean;
  name?: string;
  value?: T;
  defaultValue?: T;
  options: ReadonlyArray<readonly [T, string]>;
  onChange?: (value: T) => void;
  isDisabled?: boolean;
  /** What is wrong, if something is. */
  fault?: string | undefined;
}

/** A choice as the browser draws it: good on a phone, and on any. */
export function Select<T extends string>({
  label,
  hideLabel,
  options,
  onChange,
  isDisabled,
  fault,
  ...rest
}: SelectProps<T>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? 'sr' : 'label'}>
        {label}
      </label>
      <select
        id={id}
        className="input"
        disabled={isDisabled}
        {...(fault && { 'aria-invalid': true, 'aria-describedby': `${id}-fault`, 'data-invalid': true })}
        {...(onChange && { onChange: event => onChange(event.target.value as T) })}
        {...rest}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {clean(text)}
          </option>
        ))}
      </select>
      {fault && (
        <p id={`${id}-fault`} className="fault">
          {fault}
        </p>
      )}
    </div>
  );
}

export const Checkbox = ({ children, ...props }: Omit<CheckboxProps, 'children'> & { children: ReactNode }) => (
  <AriaCheckbox className="check" {...props}>
    <span className="box" aria-hidden>
      <Check />
    </span>
    <span>{children}</span>
  </AriaCheckbox>
);
