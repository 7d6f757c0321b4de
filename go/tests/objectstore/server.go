// Package objectstore owns the real servers that tests run against: it builds them where they are
// missing, starts them on free ports of the loopback interface, and stops them. It knows nothing of
// the product but storage.Settings, so that tests meet the same servers as users. Only tests
// and benchmarks import it.
package objectstore

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"deeplake/core/storage"
)

// Kind is the protocol of a server.
type Kind string

// The protocols.
const (
	KindS3  Kind = "s3"
	KindGCS Kind = "gcs"
)

// Config says which server to start.
type Config struct {
	Kind Kind
	// KindS3 by MinIO instead of versitygw; built on first use, which takes minutes
	MinIO      bool
	TLS        bool   // KindS3 over HTTPS, with a certificate of Server.CAFile
	Versioning bool   // KindS3: buckets can keep old versions (versitygw)
	Disk       bool   // KindGCS: objects in files instead of memory
	Dir        string // for its data; "": a new temporary folder, removed by Stop
}

// Server is a running server. Its fields are read-only; methods may be called in parallel.
type Server struct {
	Kind      Kind
	Endpoint  string // "http://127.0.0.1:PORT", without a slash at the end
	Region    string // S3
	AccessKey string // S3
	SecretKey string // S3
	CAFile    string // PEM; "" without TLS

	process *process
	temp    string // to be removed
}

// What every server is started with: nothing that is worth keeping secret.
const (
	accessKey = "testkey1"
	secretKey = "testsecret1"
	region    = "us-east-1"
)

// Start starts a server and waits until it answers.
func Start(ctx context.Context, c Config) (*Server, error) {
	s := &Server{Kind: c.Kind}
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "objectstore-"); err != nil {
			return nil, err
		}
		s.temp = dir
	}
	// A port that was free may be taken before the server has it.
	var err error
	for range 3 {
		if err = s.start(ctx, c, dir); err == nil {
			return s, nil
		}
	}
	s.removeTemp()
	return nil, fmt.Errorf("start a server for %s: %w", c.Kind, err)
}

func (s *Server) start(ctx context.Context, c Config, dir string) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	run := recipe{}
	switch {
	case c.Kind == KindGCS:
		run, err = gcsRecipe(ctx, c, address, dir)
	case c.MinIO:
		run, err = minioRecipe(ctx, c, address, dir)
	default:
		run, err = versityRecipe(ctx, c, address, dir)
	}
	if err != nil {
		return err
	}
	s.Endpoint, s.CAFile = "http://"+address, run.caFile
	if c.Kind == KindS3 {
		s.Region, s.AccessKey, s.SecretKey = region, accessKey, secretKey
	}
	if c.TLS {
		s.Endpoint = "https://" + address
	}
	s.process, err = launch(run)
	if err != nil {
		return err
	}
	if err := s.process.ready(ctx, s.answers); err != nil {
		s.process.stop()
		return err
	}
	return nil
}

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	s.process.stop()
	s.removeTemp()
}

func (s *Server) removeTemp() {
	if s.temp != "" {
		_ = os.RemoveAll(s.temp)
	}
}

// Settings returns the settings with which a user reaches the server.
func (s *Server) Settings() storage.Settings {
	if s.Kind == KindGCS {
		return storage.Settings{Endpoint: s.Endpoint, Anonymous: true}
	}
	return storage.Settings{
		Endpoint: s.Endpoint, Region: s.Region, CAFile: s.CAFile,
		AccessKeyID: s.AccessKey, SecretAccessKey: storage.Secret(s.SecretKey),
	}
}

// URI is the address of a place in a bucket: "s3://bucket/prefix" or "gs://bucket/prefix".
func (s *Server) URI(bucket string, prefix ...string) string {
	scheme := "s3"
	if s.Kind == KindGCS {
		scheme = "gs"
	}
	return scheme + "://" + strings.Join(append([]string{bucket}, prefix...), "/")
}

// freeAddress is a free port of the loopback interface.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// recipe is how one server is started.
type recipe struct {
	binary string
	args   []string
	env    []string
	caFile string
}

// versityRecipe sets two flags against bad defaults: without --keep-alive each answer closes its
// connection, and the default buffer of 1 MiB is allocated for every GET.
func versityRecipe(ctx context.Context, c Config, address, dir string) (recipe, error) {
	binary, err := versitygw.binary(ctx)
	if err != nil {
		return recipe{}, err
	}
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return recipe{}, err
	}
	r := recipe{binary: binary, args: []string{
		"--access", accessKey, "--secret", secretKey, "--region", region, "--port", address, "--keep-alive", "--quiet",
	}}
	if c.TLS {
		ca, cert, key, err := certificate(dir)
		if err != nil {
			return recipe{}, err
		}
		r.caFile = ca
		r.args = append(r.args, "--cert", cert, "--key", key)
	}
	r.args = append(r.args, "posix", "--io-buffer-size", "65536")
	if c.Versioning {
		old := filepath.Join(dir, "versions")
		if err := os.MkdirAll(old, 0o755); err != nil {
			return recipe{}, err
		}
		r.args = append(r.args, "--versioning-dir", old)
	}
	r.args = append(r.args, data)
	return r, nil
}

func minioRecipe(ctx context.Context, c Config, address, dir string) (recipe, error) {
	binary, err := minio.binary(ctx)
	if err != nil {
		return recipe{}, err
	}
	r := recipe{
		binary: binary,
		args:   []string{"server", filepath.Join(dir, "data"), "--address", address, "--quiet"},
		env:    []string{"MINIO_ROOT_USER=" + accessKey, "MINIO_ROOT_PASSWORD=" + secretKey, "MINIO_UPDATE=off", "MINIO_BROWSER=off"},
	}
	if c.TLS {
		ca, cert, key, err := certificate(dir)
		if err != nil {
			return recipe{}, err
		}
		certs := filepath.Join(dir, "certs")
		if err := os.MkdirAll(certs, 0o755); err != nil {
			return recipe{}, err
		}
		for from, to := range map[string]string{cert: "public.crt", key: "private.key"} {
			if err := os.Rename(from, filepath.Join(certs, to)); err != nil {
				return recipe{}, err
			}
		}
		r.caFile = ca
		r.args = append(r.args, "--certs-dir", certs)
	}
	return r, nil
}

func gcsRecipe(ctx context.Context, c Config, address, dir string) (recipe, error) {
	if c.TLS {
		return recipe{}, fmt.Errorf("server for %s: TLS is not built in", c.Kind)
	}
	binary, err := fakeGCS.binary(ctx)
	if err != nil {
		return recipe{}, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return recipe{}, err
	}
	args := []string{
		"-scheme", "http", "-host", host, "-port", port, "-public-host", address,
		"-external-url", "http://" + address, "-log-level", "warn",
	}
	if c.Disk {
		args = append(args, "-backend", "filesystem", "-filesystem-root", filepath.Join(dir, "data"))
	} else {
		args = append(args, "-backend", "memory")
	}
	return recipe{binary: binary, args: args}, nil
}
