package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// strangerPort tells the test binary that it is the child, and the port that it opens.
const strangerPort = "DEEPLAKE_TEST_STRANGER_PORT"

// TestStrangerChild sends a request, which the parent wrote, and prints the status of the answer.
func TestStrangerChild(t *testing.T) {
	address, request, ok := strings.Cut(os.Getenv(strangerPort), "\n")
	if !ok {
		t.Skip("is run by TestKeyOfAnotherAccount")
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("status %d\n", r.StatusCode)
	if err := r.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKeyOfAnotherAccount redeems an own key as another account of the system.
func TestKeyOfAnotherAccount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("root alone runs programs as another account")
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := t.TempDir() + "/child"
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := program; dir != "/"; dir = dir[:max(1, strings.LastIndex(dir, "/"))] {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Skipf("another account cannot run %s: %v", program, err)
			}
		}
	}
	f := serve(t, Options{})
	as := func(account uint32, key string) string {
		body := fmt.Sprintf(`{"key":%q}`, key)
		request := fmt.Sprintf("POST /api/enter HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", f.Address(), len(body), body)
		child := exec.CommandContext(t.Context(), program, "-test.run=^TestStrangerChild$")
		child.Env = append(os.Environ(), strangerPort+"="+f.Address()+"\n"+request)
		child.Dir = "/"
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account, Gid: account}}
		out, err := child.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	key := f.OwnKey()
	if got := as(54321, key); !strings.Contains(got, "status 403") {
		t.Errorf("another account: %s", got)
	}
	if got := as(0, key); !strings.Contains(got, "status 200") {
		t.Errorf("this account: %s", got)
	}
	if got := as(54321, f.Key()); !strings.Contains(got, "status 200") {
		t.Errorf("a printed link: %s", got)
	}
}
