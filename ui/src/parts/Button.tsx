import { Button as AriaButton, type ButtonProps } from 'react-aria-components';
import { Link } from 'wouter';
import type { ReactNode } from 'react';

export type Kind = 'plain' | 'primary' | 'quiet' | 'danger' | 'solid-danger';

interface Looks {
  kind?: Kind;
  /** Shows an icon only; then aria-label is needed, and names what it is about. */
  icon?: boolean;
}

const classOf = ({ kind = 'plain', icon }: Looks) => `btn ${kind}${icon ? ' icon' : ''}`;

interface Props extends Omit<ButtonProps, 'isPending'>, Looks {
  /** What it began goes on; pressing it again does nothing. It keeps the focus. */
  isBusy?: boolean;
}

export const Button = ({ kind, icon, isBusy, onPress, ...props }: Props) => (
  <AriaButton
    className={classOf({ ...(kind && { kind }), ...(icon && { icon }) })}
    {...(isBusy ? { 'data-busy': true } : onPress && { onPress })}
    {...props}
  />
);

/** A link that looks like a button: it leads somewhere and does nothing. */
export function LinkButton({
  to,
  kind,
  icon,
  children,
  ...rest
}: Looks & { to: string; children: ReactNode; 'aria-label'?: string }) {
  return (
    <Link href={to} className={classOf({ ...(kind && { kind }), ...(icon && { icon }) })} {...rest}>
      {children}
    </Link>
  );
}
