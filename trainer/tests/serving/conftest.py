import pytest
from server_process import ServerProcess
from tiny_models import ADAPTED, AGENT, save_adapter, save_model, serve_name


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A store with a full model, an adapter over it, and names that lead to broken folders."""
    store = tmp_path_factory.mktemp("store")
    save_model(store / "objects" / "full", seed=0)
    save_adapter(store / "objects" / "adapter", store / "objects" / "full", seed=1)
    serve_name(store, AGENT, "objects/full")
    serve_name(store, ADAPTED, "objects/adapter")
    return store


@pytest.fixture(scope="session")
def servers(store, tmp_path_factory):
    """Two server processes over the same store; the second is there to be compared with the first, then
    ended."""
    folder = tmp_path_factory.mktemp("servers")
    both = [ServerProcess(store, folder / f"port-{index}.json") for index in range(2)]
    yield both
    for server in both:
        server.process.kill()
        server.process.wait()


@pytest.fixture(scope="session")
def client(servers):
    with servers[0].client() as client:
        yield client


@pytest.fixture
def complete(client):
    """Posts a completion for the full model and gives its choices."""

    def post(**fields):
        answer = client.post(
            "/v1/completions", json={"model": AGENT, "seed": 7, "return_token_ids": True} | fields
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["choices"]

    return post
