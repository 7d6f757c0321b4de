package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/peer"
	"deeplake/core/internal/task"
	"deeplake/core/viz"
)

// Options are the settings of a server.
type Options struct {
	viz.Options
	Host  string   // the address to listen on; "": 127.0.0.1
	Port  int      // 0: any free one
	Hosts []string // names besides localhost under which browsers and proxies reach the server
	Page  string   // the directory of the built page
}

// Server serves one dataset until it is closed. All methods may be called in parallel.
type Server struct {
	service  *viz.Service
	guard    *guard
	page     fs.FS
	listener net.Listener
	http     *http.Server
	running  *task.Group
	end      context.CancelFunc
	grants   grants
	pieces   chan struct{}    // holds the places of the pieces of videos that are in memory
	now      func() time.Time // the clock of grants
}

const (
	mostBody    = 4 << 20 // of a request
	headTimeout = 10 * time.Second
	stallLimit  = 60 * time.Second // of a client that reads no more
)

// Listen starts a server. It must be closed.
func Listen(o Options) (*Server, error) {
	for _, h := range o.Hosts {
		if !validHost(h) {
			return nil, errs.Op("start visualizer", "").New(errs.Invalid, "allow_hosts has %q, want names like \"hub.example.org\", without scheme and port", h)
		}
	}
	if o.Port < 0 || o.Port > 65535 {
		return nil, errs.Op("start visualizer", "").New(errs.Invalid, "port is %d, want 0 (any free one) to 65535", o.Port)
	}
	if o.SaveViews {
		if o.Dataset == nil {
			return nil, errs.Op("start visualizer", "").New(errs.Unsupported, "save_views needs rows of one dataset; show that dataset, or a query of it")
		}
		if err := o.Dataset.Versions().CanSaveViews(); err != nil {
			return nil, errs.New(errs.KindOf(err), "start visualizer with save_views: %w", err)
		}
	}
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	root, err := os.OpenRoot(o.Page)
	if err == nil {
		_, err = root.Stat("index.html")
	}
	if err != nil {
		return nil, errs.Op("start visualizer", "").New(errs.NotFound, "no page in %q; run `make web`, which needs Node 20 or newer, or install a wheel, which has it: %w", o.Page, err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return nil, errs.New(errs.Storage, "start visualizer on %s, port %d; choose another port, or 0 for any: %w", o.Host, o.Port, err)
	}
	hosts := o.Hosts
	if ip := net.ParseIP(o.Host); ip == nil || !ip.IsLoopback() && !ip.IsUnspecified() {
		hosts = append(hosts[:len(hosts):len(hosts)], o.Host)
	}
	if o.Compress == nil {
		o.Compress = viz.JPEG(o.Codecs)
	}
	s := &Server{service: viz.New(o.Options), guard: newGuard(hosts), page: root.FS(), listener: l,
		pieces: make(chan struct{}, mostPieces), now: time.Now}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headTimeout, ReadTimeout: stallLimit, IdleTimeout: 2 * stallLimit,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0), // strangers would fill the terminal
	}
	s.running = task.New(ctx, 0)
	s.running.Go(func(context.Context) error {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return s, nil
}

// Address returns the address that the server listens on, as "127.0.0.1:40213".
func (s *Server) Address() string { return s.listener.Addr().String() }

// Link returns an address that one browser may open once. The key in it is no part of any request
// for the page: browsers keep what stands behind # to themselves.
func (s *Server) Link() string {
	host, port, _ := net.SplitHostPort(s.Address())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/#key=" + s.Key()
}

// Key returns a key as in Link, for pages that are reached by a proxy.
func (s *Server) Key() string { return s.guard.key(false) }

// OwnKey returns a key that opens a page only over a connection of this process's account on this
// machine. Other accounts may see it: the argument list of a browser may have it. It returns "" if
// the system does not tell the account of a connection.
func (s *Server) OwnKey() string {
	if !peer.Known() {
		return ""
	}
	return s.guard.key(true)
}

// Close ends all requests and closes what pages have opened.
func (s *Server) Close() error {
	s.end()
	err := s.http.Close()
	if waited := s.running.Wait(); waited != nil && !errors.Is(waited, context.Canceled) {
		err = waited
	}
	s.service.Close()
	if err != nil {
		return errs.Wrap(errs.Storage, "close visualizer", s.Address(), err)
	}
	return nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/enter", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.guard.check, func(body []byte, to *answer) error {
			return s.enter(body, to, func() bool { return isOwn(r) })
		})
	})
	mux.HandleFunc("POST /api/video", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.guard.admit, func(body []byte, to *answer) error {
			return task.Call(func() error { return s.video(r.Context(), body, to) })
		})
	})
	mux.HandleFunc("GET /api/video/{grant}", s.play)
	mux.HandleFunc("POST /api/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.guard.admit, func(body []byte, to *answer) error {
			return s.service.Call(r.Context(), r.PathValue("name"), body, to)
		})
	})
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, errs.New(errs.NotFound, "no %s %.100q", r.Method, r.URL.Path))
	})
	mux.HandleFunc("/", s.file)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.guard.headers(w.Header())
		if err := s.guard.checkHost(r); err != nil {
			refuse(w, err)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// answer answers a request with a JSON body, if check allows it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, check func(r *http.Request) error, call func(body []byte, to *answer) error) {
	w.Header().Set("Cache-Control", "no-store")
	err := check(r)
	var body []byte
	if err == nil {
		body, err = readBody(w, r)
	}
	if err == nil {
		err = call(body, &answer{w, http.NewResponseController(w)})
	}
	if err != nil {
		refuse(w, err)
	}
}

// answer is the answer to one request; viz.Answer.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Begin names the kind of the answer.
func (a *answer) Begin(media string) { a.Header().Set("Content-Type", media) }

// Write appends bytes. A client that stalls must not hold its place for ever.
func (a *answer) Write(data []byte) (int, error) {
	_ = a.control.SetWriteDeadline(time.Now().Add(stallLimit)) // unknown to some tests' writers
	return a.ResponseWriter.Write(data)
}

// Flush sends the bytes written so far.
func (a *answer) Flush() error { return a.control.Flush() }

// refuse answers with an error. Nothing was written before.
func refuse(w http.ResponseWriter, err error) {
	status, body := viz.Refuse(err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// enter exchanges a key for the token.
func (s *Server) enter(body []byte, to *answer, isOwn func() bool) error {
	var in struct {
		Key string `json:"key"`
	}
	if err := viz.Parse(body, &in); err != nil {
		return err
	}
	token, err := s.guard.enter(in.Key, isOwn)
	if err != nil {
		return err
	}
	return viz.Write(to, map[string]string{"token": token})
}

// isOwn reports whether the account of this process has opened the connection of a request.
func isOwn(r *http.Request) bool {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if err != nil || !ok {
		return false
	}
	account, ok := peer.Account(remote, local.AddrPort())
	return ok && account == os.Geteuid()
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, errs.New(errs.Invalid, "request with Content-Type %.100q, want application/json", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		return nil, errs.New(errs.Invalid, "read request of at most %d bytes: %w", mostBody, err)
	}
	return body, nil
}

// file sends a file of the page. Names of assets contain a digest of their content.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	data, err := fs.ReadFile(s.page, name)
	if err != nil {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", mediaType(name))
	_, _ = w.Write(data) // the client may be gone
}

// mediaType goes by a table of its own: that of the system may be missing or strange.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".wasm":
		return "application/wasm"
	}
	return "application/octet-stream"
}
