// Package sshd runs a real OpenSSH server for tests, as the current user. Debian's package openssh-server is all it
// needs.
package sshd

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// Names of files in the directory of a server.
const (
	fileConfig  = "sshd_config"
	fileHostKey = "host_key"
	fileKey     = "id_ed25519"
	fileKeys    = "authorized_keys"
	fileLog     = "sshd.log"
)

// privsep is what sshd wants to be there when it runs as root. Debian makes it
// when the service starts, which it does not on a machine that has none.
const privsep = "/run/sshd"

// grace that the processes of a server have to end once it is stopped.
const grace = 5 * time.Second

// Options of a server.
type Options struct {
	// Command that is run instead of what clients ask for, which it finds in
	// SSH_ORIGINAL_COMMAND. Empty runs what clients ask for.
	Command string
	// Host is the address to listen on, 127.0.0.1 by default. With Machine it is one that this machine gets meanwhile.
	Host string
	// Port to listen on; by default one that is free.
	Port int
	// Machine that commands run on; by default this one.
	Machine bool
}

// A Server serves each connection by an sshd of its own, which ends with it.
type Server struct {
	// Host and Port that it listens on.
	Host string
	Port int
	// User that may log in, with Key and no other way: the one that runs it.
	User string
	// Key is the private key of the user, as ssh reads it.
	Key []byte
	// HostKey is the public key of the server: type and key.
	HostKey string
	// Home of the user as commands see it.
	Home string

	// Machine that commands run on, if it is another one.
	Machine *Machine

	dir  string
	path string
}

// Start a server that keeps what it needs in a directory, which is made if need be. It ends with the test.
func Start(tb testing.TB, dir string, o Options) *Server {
	tb.Helper()

	me, err := user.Current()
	needs.OK(tb, err)

	s := &Server{User: me.Username, dir: dir, path: needs.Program(tb, "sshd"), Home: filepath.Join(dir, "home")}
	if me.Uid == "0" {
		// sshd insists on the mode.
		needs.OK(tb, os.MkdirAll(privsep, 0o755)) //nolint:gosec // It stays empty.
	}

	needs.OK(tb, os.MkdirAll(s.Home, 0o700))
	s.makeKeys(tb)
	s.configure(tb, o)

	if o.Machine {
		s.Machine = newMachine(tb, dir, o.Host)
	}

	address := net.JoinHostPort(cmp.Or(o.Host, "127.0.0.1"), strconv.Itoa(o.Port))
	addr := needs.Connections(tb, address, s.handle)
	s.Host, s.Port = addr.IP.String(), addr.Port

	return s
}

// KeyFile has the private key of the user.
func (s *Server) KeyFile() string { return filepath.Join(s.dir, fileKey) }

// KnownHosts is the line of a file known_hosts that has the server.
func (s *Server) KnownHosts() string {
	return fmt.Sprintf("[%s]:%d %s\n", s.Host, s.Port, s.HostKey)
}

// makeKeys of the server and of the user that may log in.
func (s *Server) makeKeys(tb testing.TB) {
	tb.Helper()

	for _, file := range []string{fileHostKey, fileKey} {
		path := filepath.Join(s.dir, file)
		if _, err := os.Stat(path); err == nil {
			continue // Servers in one directory have the same keys.
		}

		cmd := exec.CommandContext(tb.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path)
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("cannot make a key: %v: %s", err, out)
		}
	}

	public := needs.Read(tb, filepath.Join(s.dir, fileHostKey+".pub"))
	s.HostKey = strings.TrimSuffix(strings.TrimSpace(public), " test")
	s.Key = []byte(needs.Read(tb, s.KeyFile()))
	needs.Write(tb, s.dir, map[string]string{fileKeys: needs.Read(tb, s.KeyFile()+".pub")})
}

func (s *Server) configure(tb testing.TB, o Options) {
	tb.Helper()

	lines := []string{
		"HostKey " + filepath.Join(s.dir, fileHostKey),
		"AuthorizedKeysFile " + filepath.Join(s.dir, fileKeys),
		// It minds directories that others may write to, such as /tmp.
		"StrictModes no",
		"UsePAM no",
		"AuthenticationMethods publickey",
		"PermitRootLogin prohibit-password",
		"PermitUserRC no",
		"PrintMotd no",
		"LogLevel VERBOSE",
		"Subsystem sftp internal-sftp",
	}

	if o.Machine {
		// What is Debian's, and nothing that a developer has installed beside it.
		lines = append(lines, "SetEnv PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	} else {
		lines = append(lines, "SetEnv "+strconv.Quote("HOME="+s.Home))
	}

	if o.Command != "" {
		lines = append(lines, "ForceCommand "+o.Command)
	}

	needs.Write(tb, s.dir, map[string]string{fileConfig: strings.Join(lines, "\n") + "\n"})
}

// handle a connection with an sshd that has it as standard input and output, as
// inetd starts it. No process of a server is there without a connection.
func (s *Server) handle(ctx context.Context, c net.Conn) {
	defer c.Close() //nolint:errcheck // It is the client's to mind.

	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}

	file, err := tcp.File()
	if err != nil {
		return
	}
	defer file.Close() //nolint:errcheck // As above.

	args := []string{s.path, "-i", "-f", filepath.Join(s.dir, fileConfig), "-E", filepath.Join(s.dir, fileLog)}
	if s.Machine != nil {
		args = s.Machine.Command(args...)
	}

	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout = file, file
	cmd.WaitDelay = grace
	cmd.Cancel = func() error {
		// The process has the connection, too.
		_ = tcp.CloseRead()

		return tcp.CloseWrite()
	}

	_ = cmd.Run()
}
