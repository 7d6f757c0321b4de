// Command objectstore starts object stores with a fault proxy before each, for tests and benchmarks
// that are not Go.
//
//	objectstore build           builds the servers into build/servers; "build minio" that one
//	objectstore [flags] s3 gcs  starts them, prints one line of JSON, and runs until its standard input ends
//
// The line maps each name that was requested to its endpoint:
//
//	{"s3": {"endpoint": ..., "proxy": ..., "control": ..., "region": ..., "access_key": ..., "secret_key": ...}}
//
// endpoint is the server itself, proxy the same through the proxy, and control the URL below which
// are the controls of the proxy (faultproxy.Proxy.Control) and of the store. All of them are on the
// loopback interface; -listen gives the proxies another address, which other machines or network
// namespaces reach.
//
// The controls of the store:
//
//	POST   /buckets                makes a bucket; answers {"bucket": name}
//	PUT    /objects/BUCKET/NAME    stores the request's body
//	DELETE /objects/BUCKET/NAME
//
// The names: s3, s3-tls (without a proxy), s3-versions, minio, gcs, and http, which serves the
// folder of -dir, ranges included, with as little work as Go can.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"

	"deeplake/go/tests/faultproxy"
	"deeplake/go/tests/objectstore"
)

// endpoint is the address of one server with its credentials.
type endpoint struct {
	Endpoint  string `json:"endpoint"`
	Proxy     string `json:"proxy,omitempty"`
	Control   string `json:"control"`
	Region    string `json:"region,omitempty"`
	AccessKey string `json:"access_key,omitempty"`
	SecretKey string `json:"secret_key,omitempty"`
	CAFile    string `json:"ca_file,omitempty"`
}

type options struct {
	profile string
	listen  string
	seed    uint64
	dir     string
}

func main() {
	var o options
	flag.StringVar(&o.profile, "profile", "lan", "of the proxies: lan, s3, jittery, bad, slow-link")
	flag.StringVar(&o.listen, "listen", "127.0.0.1", "address of the proxies; servers and controls stay on 127.0.0.1")
	flag.Uint64Var(&o.seed, "seed", 1, "of the faults that are left to chance")
	flag.StringVar(&o.dir, "dir", "", "folder that the server http serves")
	flag.Parse()
	if err := run(context.Background(), o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "objectstore:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, names []string) error {
	if len(names) == 1 && names[0] == "build" {
		return objectstore.Build(ctx)
	}
	if slices.Equal(names, []string{"build", "minio"}) {
		return objectstore.BuildMinIO(ctx)
	}
	if len(names) == 0 {
		return errors.New("name what to start: s3, s3-tls, s3-versions, minio, gcs, http; or build")
	}
	endpoints := map[string]endpoint{}
	for _, name := range names {
		p, stop, err := start(ctx, name, o)
		if err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		defer stop()
		endpoints[name] = p
	}
	if err := json.NewEncoder(os.Stdout).Encode(endpoints); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// start starts a server, its proxy and their controls.
func start(ctx context.Context, name string, o options) (p endpoint, stop func(), err error) {
	var stops []func()
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	mux := http.NewServeMux()
	dialect, rewrite := faultproxy.DialectS3, false
	if name == "http" {
		dialect = faultproxy.DialectHTTP
		endpoint, end, err := serve(http.FileServer(http.Dir(o.dir)))
		if err != nil {
			return p, stop, err
		}
		stops = append(stops, end)
		p.Endpoint = endpoint
	} else {
		c, err := configOf(name)
		if err != nil {
			return p, stop, err
		}
		s, err := objectstore.Start(ctx, c)
		if err != nil {
			return p, stop, err
		}
		stops = append(stops, s.Stop)
		p = endpoint{Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, CAFile: s.CAFile}
		if c.Kind == objectstore.KindGCS {
			dialect, rewrite = faultproxy.DialectGCS, true
		}
		control(mux, s)
	}
	if p.CAFile == "" {
		profile, err := faultproxy.ProfileOf(o.profile)
		if err != nil {
			return p, stop, err
		}
		proxy, err := faultproxy.Start(faultproxy.Config{
			Upstream: p.Endpoint, Listen: o.listen, Dialect: dialect, Profile: profile, Seed: o.seed, RewriteHost: rewrite,
		})
		if err != nil {
			return p, stop, err
		}
		stops = append(stops, proxy.Close)
		p.Proxy = proxy.URL
		mux.Handle("/", proxy.Control())
	}
	endpoint, end, err := serve(mux)
	if err != nil {
		return p, stop, err
	}
	stops = append(stops, end)
	p.Control = endpoint
	return p, stop, nil
}

func configOf(name string) (objectstore.Config, error) {
	switch name {
	case "s3":
		return objectstore.Config{Kind: objectstore.KindS3}, nil
	case "s3-tls":
		return objectstore.Config{Kind: objectstore.KindS3, TLS: true}, nil
	case "s3-versions":
		return objectstore.Config{Kind: objectstore.KindS3, Versioning: true}, nil
	case "minio":
		return objectstore.Config{Kind: objectstore.KindS3, MinIO: true}, nil
	case "gcs":
		return objectstore.Config{Kind: objectstore.KindGCS}, nil
	}
	return objectstore.Config{}, errors.New("no such server")
}

// control lets others make buckets and objects without a client of their own.
func control(mux *http.ServeMux, s *objectstore.Server) {
	mux.HandleFunc("POST /buckets", func(w http.ResponseWriter, rq *http.Request) {
		name, err := s.MakeBucket(rq.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"bucket": name})
	})
	mux.HandleFunc("PUT /objects/{bucket}/{name...}", func(w http.ResponseWriter, rq *http.Request) {
		data, err := io.ReadAll(rq.Body)
		if err == nil {
			err = s.PutObject(rq.Context(), rq.PathValue("bucket"), rq.PathValue("name"), data)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	mux.HandleFunc("DELETE /objects/{bucket}/{name...}", func(w http.ResponseWriter, rq *http.Request) {
		if err := s.DeleteObject(rq.Context(), rq.PathValue("bucket"), rq.PathValue("name")); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
}

// serve serves on a free port of the loopback interface until it is ended.
func serve(what http.Handler) (endpoint string, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: what}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}
