"""How commands run studies and experiments that this host keeps."""
