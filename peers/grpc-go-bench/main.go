// grpc-go-server PORT: the bench service on grpc-go.
package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"bench/pb"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: grpc-go-server PORT")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterBenchServer(server, &bench{blob: bytes.Repeat([]byte{0x5a}, 1<<20)})
	log.Fatal(server.Serve(listener))
}

type bench struct {
	pb.UnimplementedBenchServer
	blob []byte
}

func (*bench) Echo(_ context.Context, message *pb.EchoMsg) (*pb.EchoMsg, error) {
	return message, nil
}

func (b *bench) Stream(request *pb.StreamReq, out grpc.ServerStreamingServer[pb.EchoMsg]) error {
	if request.Size < 0 || int(request.Size) > len(b.blob) {
		return status.Error(codes.InvalidArgument, "size")
	}
	// Send has written the message out before it returns, so that one does for all.
	message := pb.EchoMsg{Payload: b.blob[:request.Size]}
	for message.Id < int64(request.Count) {
		message.Id++
		if err := out.Send(&message); err != nil {
			return err
		}
	}
	return nil
}

func (*bench) Collect(in grpc.ClientStreamingServer[pb.EchoMsg, pb.Summary]) error {
	var summary pb.Summary
	for {
		message, err := in.Recv()
		if err == io.EOF {
			return in.SendAndClose(&summary)
		}
		if err != nil {
			return err
		}
		summary.Count++
		summary.Bytes += int64(len(message.Payload))
	}
}

func (*bench) Bidi(both grpc.BidiStreamingServer[pb.EchoMsg, pb.EchoMsg]) error {
	for {
		message, err := both.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := both.Send(message); err != nil {
			return err
		}
	}
}
