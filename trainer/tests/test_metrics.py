from genenv_trainer.metrics import job_metrics


def test_a_job_compares_with_the_sampler_before_its_first_step_only():
    first = {
        "loss": 1.0, "num_tokens": 10, "learning_rate": 0.2, "env/rwr_weight_max": 2.0,
        "sampling/sampling_logp_difference/mean": 1e-6, "sampling/sampling_logp_difference/max": 1e-5,
    }
    moved = {
        "loss": 2.0, "num_tokens": 30, "learning_rate": 0.1, "env/rwr_weight_max": 1.0,
        "sampling/sampling_logp_difference/mean": 0.05, "sampling/sampling_logp_difference/max": 0.9,
    }
    assert job_metrics([first, moved]) == {
        "loss": 1.5, "num_tokens": 40, "learning_rate": 0.1, "env/rwr_weight_max": 2.0,
        "sampling/sampling_logp_difference/mean": 1e-6, "sampling/sampling_logp_difference/max": 1e-5,
    }
    assert job_metrics([]) == {}
