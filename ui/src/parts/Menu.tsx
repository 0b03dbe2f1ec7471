import { Ellipsis } from 'lucide-react';
import type { ReactNode } from 'react';
import {
  Menu as AriaMenu,
  MenuItem as AriaMenuItem,
  MenuTrigger,
  Popover,
  type MenuItemProps,
} from 'react-aria-components';
import { Button } from './Button.tsx';

/** A menu of rare things behind a button. */
export const Menu = ({ button, label, children }: { button: ReactNode; label: string; children: ReactNode }) => (
  <MenuTrigger>
    {button}
    <Popover className="popover">
      <AriaMenu className="menu" aria-label={label}>
        {children}
      </AriaMenu>
    </Popover>
  </MenuTrigger>
);

/** The menu of rare things behind three dots; the label names what they are about. */
export const MoreMenu = ({ label, children }: { label: string; children: ReactNode }) => (
  <Menu
    label={label}
    button={
      <Button icon aria-label={label}>
        <Ellipsis aria-hidden />
      </Button>
    }
  >
    {children}
  </Menu>
);

export const MenuItem = ({ danger, ...props }: MenuItemProps & { danger?: boolean }) => (
  <AriaMenuItem className={danger ? 'option danger' : 'option'} {...props} />
);
