// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	// mostWaiting is more connections than a queue of length 0 takes on any system.
	mostWaiting = 16
	// answeredWithin is time enough for a connection on the same machine.
	answeredWithin = 300 * time.Millisecond
)

// Unanswered is a port of this machine that says nothing to those who connect: its queue of connections is full, and the
// system drops what else comes, as a firewall does.
type Unanswered struct {
	Port    int
	socket  int
	waiting []net.Conn
}

// Unanswer opens such a port.
func Unanswer() (*Unanswered, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a socket: %w", err)
	}
	u := &Unanswered{socket: socket}
	if err := u.listen(); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

func (u *Unanswered) listen() error {
	err := errors.Join(
		syscall.Bind(u.socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
		syscall.Listen(u.socket, 0),
	)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	address, err := syscall.Getsockname(u.socket)
	if err != nil {
		return err
	}
	own, known := address.(*syscall.SockaddrInet4)
	if !known {
		return fmt.Errorf("the socket has the address %v", address)
	}
	u.Port = own.Port
	return u.fill()
}

// fill takes places in the queue until there are none.
func (u *Unanswered) fill() error {
	for range mostWaiting {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", u.Port), answeredWithin)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("filling the queue: %w", err)
		}
		u.waiting = append(u.waiting, conn)
	}
	return fmt.Errorf("the queue takes %d connections and more", mostWaiting)
}

// Close gives the port back.
func (u *Unanswered) Close() error {
	for _, conn := range u.waiting {
		_ = conn.Close()
	}
	return syscall.Close(u.socket)
}
