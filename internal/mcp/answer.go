package mcp

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Header values shared by all answers; without spare capacity, so that adding
// to one copies it.
var (
	typeJSON = []string{"application/json"}
	noStore  = []string{"no-store"}
	onlyPOST = []string{"POST"}
)

// buffers are where answers are put together, so that each goes out with its
// length in one write and costs no memory of its own.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keepBuffer is the size in bytes above which a buffer is not kept for the next
// answer.
const keepBuffer = 1 << 20

// open begins an answer to the message: {"jsonrpc":"2.0","id":…
func (x *exchange) open(b []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if x.msg.id == nil {
		return append(b, "null"...)
	}
	return append(b, x.msg.id...)
}

// result answers with a result, given in parts that together are one JSON object.
func (x *exchange) result(parts ...[]byte) {
	buffer := buffers.Get().(*[]byte)
	b := append(x.open((*buffer)[:0]), `,"result":`...)
	for _, p := range parts {
		b = append(b, p...)
	}
	b = append(b, '}')
	x.send(http.StatusOK, b, nil)
	giveBack(buffer, b)
}

// toolResult answers with the result of a tool: the same JSON object as
// structured content and as text, because hosts show a model one or the other.
func (x *exchange) toolResult(status int, object []byte, isError bool) {
	buffer := buffers.Get().(*[]byte)
	b := append(x.open((*buffer)[:0]), `,"result":{"content":[{"type":"text","text":`...)
	b, err := jsontext.AppendQuote(b, object)
	b = append(append(b, `}],"structuredContent":`...), object...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	if x.era == eraStateless {
		b = append(b, x.fixed.complete...)
	} else {
		b = append(b, '}')
	}
	b = append(b, '}')
	x.send(status, b, err)
	giveBack(buffer, b)
}

func giveBack(buffer *[]byte, b []byte) {
	if cap(b) <= keepBuffer {
		*buffer = b
		buffers.Put(buffer)
	}
}

// fail answers with a JSON-RPC error.
func (x *exchange) fail(status, code int, message string) { x.failWith(status, code, message, nil) }

func (x *exchange) failWith(status, code int, message string, data []byte) {
	b := append(x.open(nil), `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b, err := jsontext.AppendQuote(b, strings.ToValidUTF8(message, "?"))
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	x.send(status, append(b, `}}`...), err)
}

// plain answers what is no JSON-RPC, in the form of the owner API's errors.
func (x *exchange) plain(status int, code, message string) {
	var body struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Error.Code, body.Error.Message = code, message
	b, err := json.Marshal(body)
	x.send(status, b, err)
}

// send writes the answer; err is what went wrong while it was put together,
// such as a stored text that is not UTF-8.
func (x *exchange) send(status int, body []byte, err error) {
	if err != nil {
		x.Log.Error("answer not written", "err", err)
		status, body = http.StatusInternalServerError, []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"The server failed."}}`)
	}
	h := x.w.Header()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.w.WriteHeader(status)
	x.w.Write(body) // an error is the client's, who is gone
}
