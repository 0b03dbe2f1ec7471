import { useState, type ReactNode } from 'react';
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { asApiError, type ApiError } from '../data/api.ts';
import { useText } from '../i18n/Text.tsx';
import { Button } from './Button.tsx';

interface Props {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** An alertdialog: it asks before something that cannot be taken back. */
  alert?: boolean;
  /** For texts side by side. */
  large?: boolean;
  children: ReactNode;
}

/** A dialog over the page. Esc and a press outside close it; the focus returns. */
export const Dialog = ({ isOpen, onClose, title, alert, large, children }: Props) => (
  <ModalOverlay className="scrim" isDismissable={!alert} isOpen={isOpen} onOpenChange={open => !open && onClose()}>
    <Modal className={large ? 'modal large' : 'modal'}>
      <AriaDialog className="dialog" role={alert ? 'alertdialog' : 'dialog'}>
        <Heading slot="title">{title}</Heading>
        {children}
      </AriaDialog>
    </Modal>
  </ModalOverlay>
);

interface FormProps extends Omit<Props, 'alert' | 'large' | 'children'> {
  /** On the button that does it: a verb and a thing. */
  submit: string;
  danger?: boolean;
  /** Does it; the dialog stays open, with its text, if that fails. */
  onSubmit: (form: FormData) => Promise<unknown>;
  children: ReactNode | ((faults: Readonly<Record<string, string>>) => ReactNode);
}

/** A dialog with a form. It closes when the form was done. */
export function FormDialog({ isOpen, onClose, title, submit, danger, onSubmit, children }: FormProps) {
  const say = useText();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const close = () => {
    setError(undefined);
    onClose();
  };
  const send = async (form: FormData) => {
    setBusy(true);
    try {
      await onSubmit(form);
      close();
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog isOpen={isOpen} onClose={close} title={title} alert={danger ?? false}>
      <form
        className="form"
        noValidate
        onSubmit={event => {
          event.preventDefault();
          if (!busy) void send(new FormData(event.currentTarget));
        }}
      >
        {error && (
          <p className="alert" role="alert">
            {withoutPointer(error.message)}
          </p>
        )}
        {typeof children === 'function' ? children(error?.fields ?? {}) : children}
        <div className="actions">
          <Button onPress={close} autoFocus={danger ?? false}>
            {say('app.cancel')}
          </Button>
          <Button type="submit" kind={danger ? 'solid-danger' : 'primary'} isBusy={busy}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The server names a field before what is wrong with it, in its own words; the form says that by the field. */
const withoutPointer = (message: string) => message.replace(/^\/\S*: /, '');
