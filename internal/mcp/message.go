package mcp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/guard"
)

// Codes of JSON-RPC errors: JSON-RPC 2.0 §5.1, and MCP 2026-07-28.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeTooMany        = -32000 // of ours: the address sent too many bad tokens
	codeHeaders        = -32020 // HTTP headers and message differ
	codeVersion        = -32022 // the protocol version is not served
)

// strangersBody is how much of a body is kept, in bytes, to answer somebody who
// has to sign in first.
const strangersBody = 64 << 10

// A fault is what is wrong with a message.
type fault struct {
	status    int
	code      int
	message   string
	requested string // codeVersion: the version that was asked for
}

func faultOf(err error) *fault {
	e, ok := errors.AsType[*guard.BodyError](err)
	if !ok {
		return &fault{status: http.StatusBadRequest, code: codeParse, message: "The body can't be read."}
	}
	code := codeInvalidRequest
	if e.Syntax {
		code = codeParse
	}
	return &fault{status: e.Status, code: code, message: e.Error()}
}

func invalid(message string) *fault {
	return &fault{status: http.StatusBadRequest, code: codeInvalidRequest, message: message}
}

// message is one JSON-RPC message. The raw values are parts of body, as
// written, so that what is judged is what is run. Absent ones are nil.
type message struct {
	body []byte

	version jsontext.Value // "jsonrpc"
	id      jsontext.Value
	method  string
	params  params

	hasMethod bool
	isAnswer  bool // has "result" or "error"
	odd       *fault
}

// params are the parameters that any method of ours takes.
type params struct {
	name            jsontext.Value
	arguments       jsontext.Value
	cursor          jsontext.Value
	protocolVersion jsontext.Value
	clientInfo      jsontext.Value
	meta            meta
}

// meta is what MCP 2026-07-28 wants in the _meta of every request.
type meta struct {
	protocolVersion    jsontext.Value
	clientCapabilities jsontext.Value
	clientInfo         jsontext.Value
}

// Names that look like these but are not written like them are refused: another
// reader may take one for the other.
var (
	messageNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramNames   = []string{"name", "arguments", "cursor", "protocolVersion", "capabilities", "clientInfo", "_meta"}
	metaNames    = []string{metaVersion, metaCapabilities, metaClientInfo}
)

// The members of _meta (MCP 2026-07-28, Base Protocol).
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// UnmarshalJSONFrom reads the message in one pass. It fails on text that is not
// JSON and on a batch; what else is odd is kept for shape, so that the answer
// can carry the id.
func (m *message) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '[' { // at once: a batch is not even read to its end
		return &guard.BodyError{Status: http.StatusBadRequest, Message: "Batches are not served; send one JSON-RPC object."}
	}
	if d.PeekKind() != '{' {
		m.odd = invalid("The body must be one JSON-RPC object.")
		return d.SkipValue()
	}
	return m.object(d, messageNames, func(name string) (err error) {
		switch name {
		case "jsonrpc":
			m.version, err = m.value(d)
		case "id":
			m.id, err = m.value(d)
		case "method":
			m.hasMethod = true
			m.method, err = m.text(d, "method")
		case "params":
			err = m.readParams(d)
		case "result", "error":
			m.isAnswer = true
			err = d.SkipValue()
		default:
			err = d.SkipValue()
		}
		return err
	})
}

func (m *message) readParams(d *jsontext.Decoder) error {
	p := &m.params
	return m.optionalObject(d, "params", paramNames, func(name string) (err error) {
		switch name {
		case "name":
			p.name, err = m.value(d)
		case "arguments":
			p.arguments, err = m.value(d)
		case "cursor":
			p.cursor, err = m.value(d)
		case "protocolVersion":
			p.protocolVersion, err = m.value(d)
		case "clientInfo":
			p.clientInfo, err = m.value(d)
		case "_meta":
			err = m.readMeta(d)
		default:
			err = d.SkipValue()
		}
		return err
	})
}

func (m *message) readMeta(d *jsontext.Decoder) error {
	p := &m.params.meta
	return m.optionalObject(d, "params._meta", metaNames, func(name string) (err error) {
		switch name {
		case metaVersion:
			p.protocolVersion, err = m.value(d)
		case metaCapabilities:
			p.clientCapabilities, err = m.value(d)
		case metaClientInfo:
			p.clientInfo, err = m.value(d)
		default:
			err = d.SkipValue()
		}
		return err
	})
}

// optionalObject is object for a value that may be null, which some clients
// write for none, and must be nothing else.
func (m *message) optionalObject(d *jsontext.Decoder, what string, names []string, member func(string) error) error {
	switch d.PeekKind() {
	case '{':
		return m.object(d, names, member)
	case 'n':
	default:
		m.oddity(what + " must be an object.")
	}
	return d.SkipValue()
}

// object reads an object; member reads the value of each member.
func (m *message) object(d *jsontext.Decoder, names []string, member func(name string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := m.name(d, names)
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// name reads the name of a member, one of names or "" for any other.
func (m *message) name(d *jsontext.Decoder, names []string) (string, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	for _, known := range names { // as nearly always: no escapes, so no copy
		if string(raw[1:len(raw)-1]) == known {
			return known, nil
		}
	}
	name, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", err
	}
	for _, known := range names {
		if string(name) == known {
			return known, nil
		}
		if strings.EqualFold(string(name), known) { // also ſ for s, and the Kelvin sign for k
			m.oddity("A member is named " + shorten(string(name)) + "; write " + known + ".")
		}
	}
	return "", nil
}

// value reads a value and gives its place in body.
func (m *message) value(d *jsontext.Decoder) (jsontext.Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return jsontext.Value(m.body[end-len(v) : end : end]), nil
}

func (m *message) text(d *jsontext.Decoder, what string) (string, error) {
	if d.PeekKind() != '"' {
		m.oddity(what + " must be a string.")
		return "", d.SkipValue()
	}
	t, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// oddity keeps the first thing that is wrong with the shape.
func (m *message) oddity(message string) {
	if m.odd == nil {
		m.odd = invalid(message)
	}
}

// shape judges the message as JSON-RPC 2.0 §4: a request or a notification.
func (m *message) shape() *fault {
	if m.id != nil && !usableID(m.id) {
		m.id = nil // can't be echoed
		return invalid("id must be a string or an integer.")
	}
	switch {
	case m.odd != nil:
		return m.odd
	case string(m.version) != `"2.0"` && stringOf(m.version) != "2.0":
		return invalid(`jsonrpc must be "2.0".`)
	case m.isAnswer:
		return invalid("This server asks nothing, so it takes no answers.")
	case !m.hasMethod || m.method == "":
		return invalid("method is missing.")
	}
	return nil
}

// usableID reports whether the id is a string or an integer (MCP, Base
// Protocol: never null; JSON-RPC 2.0 §4: no fractions).
func usableID(id jsontext.Value) bool {
	switch id.Kind() {
	case '"':
		return true
	case '0':
		return len(id) <= 32 && strings.Trim(string(id), "-0123456789") == ""
	}
	return false
}

// stringOf is the string that v holds, "" if it is none.
func stringOf(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(s)
}

// shorten keeps answers and logs from repeating what fills a body.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
