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
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
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

	dir    string
	path   string
	listen net.Listener

	wg  sync.WaitGroup
	end context.CancelFunc
}

// Start a server that keeps what it needs in a directory, which is made if need
// be.
func Start(ctx context.Context, dir string, o Options) (*Server, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}

	me, err := user.Current()
	if err != nil {
		return nil, errors.Wrap(err, "cannot tell who runs this")
	}

	s := &Server{User: me.Username, dir: dir, path: path, Home: filepath.Join(dir, "home")}
	if me.Uid == "0" {
		// sshd insists on the mode.
		if err := os.MkdirAll(privsep, 0o755); err != nil { //nolint:gosec // It stays empty.
			return nil, errors.Wrap(err, "cannot make the directory that sshd wants")
		}
	}

	if err := os.MkdirAll(s.Home, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make the directory of a server")
	}

	if err := s.makeKeys(ctx); err != nil {
		return nil, err
	}

	if err := s.configure(o); err != nil {
		return nil, err
	}

	if o.Machine {
		if s.Machine, err = newMachine(ctx, dir, o.Host); err != nil {
			return nil, err
		}
	}

	if s.listen, err = (&net.ListenConfig{}).Listen(ctx, "tcp",
		net.JoinHostPort(cmp.Or(o.Host, "127.0.0.1"), strconv.Itoa(o.Port))); err != nil {
		return nil, errors.Wrap(err, "cannot listen")
	}

	addr, _ := s.listen.Addr().(*net.TCPAddr)
	s.Host, s.Port = addr.IP.String(), addr.Port

	// The server lives until it is stopped.
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.wg.Go(func() { s.serve(ctx) })

	return s, nil
}

// KeyFile has the private key of the user.
func (s *Server) KeyFile() string { return filepath.Join(s.dir, fileKey) }

// KnownHosts is the line of a file known_hosts that has the server.
func (s *Server) KnownHosts() string {
	return fmt.Sprintf("[%s]:%d %s\n", s.Host, s.Port, s.HostKey)
}

// Stop listening and end all connections. What the server keeps in its directory
// stays.
func (s *Server) Stop() {
	_ = s.listen.Close()
	s.end()
	s.wg.Wait()

	if s.Machine != nil {
		s.Machine.Stop()
	}
}

// find sshd, which is not in every PATH. It wants to be started by its absolute path.
func find() (string, error) {
	for _, name := range []string{"sshd", "/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}

	return "", errors.New("cannot find sshd: install the package openssh-server")
}

// makeKeys of the server and of the user that may log in.
func (s *Server) makeKeys(ctx context.Context) error {
	for _, file := range []string{fileHostKey, fileKey} {
		path := filepath.Join(s.dir, file)
		if _, err := os.Stat(path); err == nil {
			continue // Servers in one directory have the same keys.
		}

		cmd := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path)
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.Wrapf(err, "cannot make a key: %s", out)
		}
	}

	public, err := os.ReadFile(filepath.Join(s.dir, fileHostKey+".pub"))
	if err != nil {
		return errors.Wrap(err, "cannot read the key of the server")
	}

	s.HostKey = strings.TrimSuffix(strings.TrimSpace(string(public)), " test")

	if s.Key, err = os.ReadFile(filepath.Join(s.dir, fileKey)); err != nil {
		return errors.Wrap(err, "cannot read the key of the user")
	}

	authorized, err := os.ReadFile(filepath.Join(s.dir, fileKey+".pub"))
	if err != nil {
		return errors.Wrap(err, "cannot read the key of the user")
	}

	return s.write(fileKeys, string(authorized))
}

func (s *Server) configure(o Options) error {
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

	return s.write(fileConfig, strings.Join(lines, "\n")+"\n")
}

func (s *Server) write(name, text string) error {
	return errors.Wrap(os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600), "cannot write a file of a server")
}

func (s *Server) serve(ctx context.Context) {
	for {
		c, err := s.listen.Accept()
		if err != nil {
			return
		}

		s.wg.Go(func() { s.handle(ctx, c) })
	}
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
